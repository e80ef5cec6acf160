// What is written in the editor stays in this tab until it is deployed: through the end of the login, and when the page
// is left. Another user of the tab is not shown it.
"use strict";
(() => {
  const drafts = {
    prefix: "pawl:draft:",
    get: (key) => JSON.parse(sessionStorage.getItem(drafts.prefix + key) || "null"),
    set: (key, draft) => sessionStorage.setItem(drafts.prefix + key, JSON.stringify(draft)),
    drop: (key) => sessionStorage.removeItem(drafts.prefix + key),
    keys: () => Object.keys(sessionStorage).filter((k) => k.startsWith(drafts.prefix)).map((k) => k.slice(drafts.prefix.length)),
  };
  const user = document.body.dataset.user;
  if (location.hash === "#deployed") {
    for (const key of drafts.keys()) if (drafts.get(key).sent) drafts.drop(key);
    history.replaceState(null, "", location.pathname + location.search);
  }
  let loggedOut = false;
  document.querySelector("form.who")?.addEventListener("submit", () => {
    loggedOut = true;
    drafts.keys().forEach(drafts.drop);
  });
  const script = document.getElementById("script");
  if (script) {
    const area = script.elements.source;
    const key = script.elements.workflow.value;
    const version = script.elements.version.value;
    const begun = area.value;
    const draft = drafts.get(key);
    const notice = document.getElementById("restored");
    let same = true;
    if (area.dataset.sent !== undefined || draft && (draft.user !== user || draft.text === begun)) drafts.drop(key);
    else if (draft) {
      same = draft.version === version || draft.take === true;
      if (same) area.value = draft.text; // before the editor takes the text from there
      notice.hidden = false;
      notice.querySelector("span").textContent = same ? "This is what you had written and not deployed."
        : `You had written something that is not deployed, begun from version ${draft.version}.`;
      notice.querySelector("[data-draft=take]").hidden = same;
    }
    let leaves = false;
    const dirty = () => area.dataset.unsaved !== undefined || area.value !== begun;
    const keep = (sent) => {
      if (dirty() && !loggedOut) drafts.set(key, { user, version, text: area.value, sent });
      else if (same) drafts.drop(key);
    };
    notice.addEventListener("click", (e) => {
      const what = e.target.dataset.draft;
      if (!what) return;
      leaves = true;
      if (what === "take") drafts.set(key, { ...draft, take: true }); else drafts.drop(key);
      location.reload();
    });
    script.addEventListener("submit", (e) => {
      keep(["deploy", "repair"].includes(e.submitter?.value));
      leaves = true;
    });
    addEventListener("pawl:over", () => { keep(false); leaves = true; });
    addEventListener("beforeunload", (e) => { if (!leaves && dirty()) e.preventDefault(); });
    addEventListener("pagehide", () => { if (!leaves) keep(false); });
    document.addEventListener("visibilitychange", () => { if (document.hidden && !leaves) keep(false); });
  }
  const [unsent] = drafts.keys().filter((key) => !user || drafts.get(key).user === user);
  const offer = document.getElementById("draft");
  if (offer && unsent !== undefined && (!user || location.pathname === "/")) {
    offer.hidden = false;
    offer.querySelector("a").href = "/ui/edit" + (unsent ? "?workflow=" + encodeURIComponent(unsent) : "");
  }
})();

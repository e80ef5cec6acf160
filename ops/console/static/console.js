// The little that pages need of a browser: they stay live, draw their charts, and log in by the code of a link.
"use strict";
(() => {
  const login = document.getElementById("login");
  const enter = () => {
    const code = location.hash.slice(1);
    if (!login || !/^[A-Z2-7]{20,}$/.test(code)) return false;
    history.replaceState(null, "", location.pathname);
    login.elements.code.value = code;
    if (login.dataset.ask === undefined) login.requestSubmit();
    return true;
  };
  if (enter()) return;
  addEventListener("hashchange", enter); // a new link in the tab that shows this page

  const reveal = () => {
    for (const bar of document.querySelectorAll(".top nav, .subnav")) { // on a phone not all of it is in view
      const current = bar.querySelector("[aria-current]");
      if (current) bar.scrollLeft = current.offsetLeft - bar.offsetLeft - (bar.clientWidth - current.offsetWidth) / 2;
    }
  };
  reveal();
  addEventListener("resize", reveal);
  document.querySelector("[data-close]")?.addEventListener("click", (e) => e.target.parentNode.remove());

  // What a person has opened, chosen or begun to write stays as it is while a page brings itself up to date.
  if (window.Idiomorph) {
    Idiomorph.defaults.ignoreActiveValue = true;
    Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) =>
      !(name === "open" && node.tagName === "DETAILS");
    Idiomorph.defaults.callbacks.beforeNodeMorphed = (old, fresh) => {
      if (old.id !== "plot") return old.dataset?.keep === undefined;
      old.dataset.plot = fresh.dataset.plot; // the chart stays, and draws the new numbers
      return false;
    };
  }
  const begun = () => {
    const main = document.getElementById("main");
    if (!main) return false;
    if (main.querySelector("[data-continued]")) return true;
    const fields = main.querySelectorAll("input, textarea, select");
    return [...fields].some((f) => f.type === "checkbox" || f.type === "radio" ? f.checked !== f.defaultChecked
      : f.type !== "hidden" && (f === document.activeElement || f.value !== f.defaultValue && f.tagName !== "SELECT"));
  };
  // When the login is over, what is on the page goes away with it. What is written in the editor is kept before that.
  document.body.addEventListener("htmx:responseError", (e) => {
    if (e.detail.xhr.status !== 401) return;
    dispatchEvent(new Event("pawl:over"));
    const main = document.getElementById("main");
    if (main.hasAttribute("hx-get") || main.hasAttribute("data-snapshot")) location.reload();
    else location.assign("/"); // the page has answered a form, and has no address of its own
  });

  const stale = document.getElementById("stale");
  const refresh = () => {
    stale.hidden = true;
    htmx.trigger(document.body, "pawl:changed");
  };
  stale?.addEventListener("click", () => location.reload());

  const live = document.body.dataset.live;
  if (live) {
    const offline = document.getElementById("offline");
    let waiting = false;
    let source;
    const changed = () => {
      if (document.hidden) { waiting = true; return; }
      const main = document.getElementById("main");
      const rows = main.querySelector("#log"); // they come one by one
      if (main.hasAttribute("hx-get") && !rows && !begun()) { refresh(); return; }
      for (const part of document.querySelectorAll("#badge, #newer")) htmx.trigger(part, "pawl:badge");
      if (!rows && !document.getElementById("script") && (main.hasAttribute("hx-get") || main.hasAttribute("data-snapshot"))) stale.hidden = false;
    };
    const listen = () => {
      source = new EventSource(live);
      source.addEventListener("open", () => { offline.hidden = true; });
      source.addEventListener("error", () => {
        offline.hidden = false;
        if (source.readyState !== EventSource.CLOSED) return;
        htmx.trigger("#badge", "pawl:badge"); // it was refused: the login may be over
        setTimeout(listen, 10_000);
      });
      source.addEventListener("changed", changed);
    };
    listen();
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && waiting) { waiting = false; changed(); }
    });
    addEventListener("pagehide", () => source.close());
  }

  // The newest rows of the log appear as they are written, above those that are there.
  const log = document.querySelector("#log[data-rows]");
  if (log) {
    const rows = new EventSource(log.dataset.rows);
    rows.addEventListener("error", () => {
      if (rows.readyState === EventSource.CLOSED) stale.hidden = false; // it was refused: new rows are not shown
    });
    rows.addEventListener("row", (e) => {
      const row = document.createRange().createContextualFragment(e.data).firstElementChild;
      if (document.getElementById(row.id)) return;
      log.querySelector(".none")?.remove();
      log.prepend(row);
      while (log.children.length > 1000) log.lastElementChild.remove();
    });
    addEventListener("pagehide", () => rows.close());
  }

  // The slider of a workflow's revisions says where it stands, and shows that when it is let go.
  document.body.addEventListener("input", (e) => {
    if (e.target.matches("[data-travel]")) document.getElementById("at-out").value = e.target.value;
  });
  document.body.addEventListener("change", (e) => {
    if (e.target.matches("[data-travel]")) e.target.form.requestSubmit();
    if (!e.target.matches("[data-all]")) return;
    for (const item of e.target.closest(".card").querySelectorAll("input[name=item]")) item.checked = e.target.checked;
  });

  // The chart of the last day.
  let plot;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const draw = () => {
    const at = document.getElementById("plot");
    if (!at || !window.uPlot) return;
    // The bars stand on each other: what came in lowest, failures on top.
    const [times, arrived, changed, failed] = JSON.parse(at.dataset.plot);
    const sums = arrived.map((n, i) => n + changed[i]);
    const data = [times, sums.map((n, i) => n + failed[i]), sums, arrived];
    const size = { width: Math.max(at.clientWidth, 200), height: 140 };
    if (plot && plot.root.parentNode === at) { plot.setSize(size); plot.setData(data); return; }
    at.textContent = "";
    const bars = uPlot.paths.bars({ size: [0.7, 20], align: 1 });
    const series = (label, name) => ({ label, stroke: colour(name), fill: colour(name), width: 0, paths: bars,
      points: { show: false } });
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false },
      font: "12px system-ui, sans-serif", size: 28 };
    plot = new uPlot({ ...size, legend: { show: false }, cursor: { show: false }, padding: [8, 20, 0, 0],
      scales: { x: { range: (u, low, high) => [low, high + 900] }, y: { range: (u, low, high) => [0, Math.max(high, 4)] } },
      series: [{}, series("failures", "--bad"), series("changes", "--out"), series("came in", "--in")],
      axes: [{ ...axis, values: (u, at) => at.map((t) => new Date(t * 1000).toLocaleTimeString([],
        { hour: "2-digit", minute: "2-digit", hour12: false })) }, { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000] }],
    }, data, at);
  };
  const redraw = () => { if (plot) { plot.destroy(); plot = null; } draw(); };
  draw();
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.body.addEventListener("htmx:afterSwap", draw);
})();

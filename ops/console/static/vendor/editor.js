// The editor of scripts: a textarea with data-editor becomes one, and what is written there goes back into it.
import { basicSetup, EditorView } from "codemirror";
import { javascript } from "@codemirror/lang-javascript";
import { setDiagnostics } from "@codemirror/lint";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { tags as t } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: t.keyword, color: "var(--code-keyword)" }, { tag: [t.string, t.regexp], color: "var(--code-string)" },
  { tag: t.comment, color: "var(--dim)", fontStyle: "italic" }, { tag: [t.number, t.bool, t.null], color: "var(--code-number)" },
  { tag: [t.definition(t.variableName), t.function(t.variableName)], color: "var(--code-name)" },
  { tag: [t.typeName, t.className], color: "var(--code-name)" },
]);
const theme = EditorView.theme({
  "&": { backgroundColor: "var(--card)", color: "var(--text)", fontSize: "13.5px" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--bg)", color: "var(--dim)", border: "0", fontFamily: "var(--mono)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused .cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--busy-bg)" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-scroller": { minHeight: "18rem", maxHeight: "60vh", overflow: "auto" },
});

for (const area of document.querySelectorAll("textarea[data-editor]")) {
  const holder = document.createElement("div");
  holder.className = "editor";
  holder.dataset.keep = "";
  area.after(holder);
  const view = new EditorView({
    doc: area.value, parent: holder,
    extensions: [
      basicSetup, javascript({ typescript: true }), theme, syntaxHighlighting(colours),
      EditorView.cspNonce.of(document.body.dataset.nonce),
      EditorView.contentAttributes.of({ "aria-label": area.getAttribute("aria-label") || "Script", tabindex: "0" }),
      EditorView.updateListener.of((u) => { if (u.docChanged) area.value = u.state.doc.toString(); }),
    ],
  });
  area.hidden = true;
  const problems = JSON.parse(area.dataset.problems || "[]");
  if (problems?.length) {
    const doc = view.state.doc;
    view.dispatch(setDiagnostics(view.state, problems.map((p) => {
      const line = doc.line(Math.min(Math.max(p.line || 1, 1), doc.lines));
      const from = Math.min(line.from + Math.max((p.column || 1) - 1, 0), line.to);
      return { from, to: line.to, severity: p.severity === "warning" ? "warning" : "error",
        message: p.message + (p.fix ? " " + p.fix : "") };
    })));
    const first = problems.find((p) => p.line);
    if (first) view.dispatch({ effects: EditorView.scrollIntoView(doc.line(Math.min(first.line, doc.lines)).from, { y: "center" }) });
  }
}

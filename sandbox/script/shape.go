package script

// ResultShape is what prepare returns, as the fix of several problems shows it.
const ResultShape = `{ reservations: [{ topic: "…", ids: [event.messageId] }], data: { … }, ui: { title: "…" } }`

// WorkflowShape of a workflow, as the fix of several problems shows it.
const WorkflowShape = `export default Pawl.workflow({ name: "…", topics: { "…": {} }, producers: { … }, ` +
	`consumers: { … } })`

package sandbox

// resultShape is what prepare returns, as the fix of several problems shows it.
const resultShape = `{ reservations: [{ topic: "…", ids: [event.messageId] }], data: { … }, ui: { title: "…" } }`

// shape of a workflow, as the fix of several problems shows it.
const shape = `export default Pawl.workflow({ name: "…", topics: { "…": {} }, producers: { … }, consumers: { … } })`

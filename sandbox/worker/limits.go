package worker

// maxWorkerStack bounds one goroutine's stack. Deep recursion in native code is not counted by the
// interpreter; beyond this it ends the process, long before it fills the memory.
const maxWorkerStack = 32 << 20

// Package lease lets the engines of a cluster share the partitions of the log: each partition has at most one owner,
// which runs its workflows.
//
// Guaranteed:
//
//   - A lease is held until 15 s after its owner sent the last renewal that was acknowledged, by a clock that cannot be
//     set and that runs while the machine is suspended. Another engine takes it only after it has itself seen the
//     entry unchanged for 20 s, or given back. Time in which it could not read the entries does not count. So two
//     engines hold one lease only where their clocks run at different speeds.
//   - Each taking has an epoch that is greater than the one before.
//   - The mark of a partition, how far its log was acknowledged, is kept beside the leases, so that it outlives the
//     node that knew it. For one log it only rises.
//   - What one engine gives back, another takes at once, and each engine has about as many partitions as the others.
//     Nothing is handed over for this while an engine that has just started may still count one that is gone. One that
//     lacks what it needs to run them has none while another one lacks nothing. It gets a share again once it has
//     lacked nothing for a minute.
//
// Not guaranteed: that an engine without a lease writes nothing. A lease says which engine should work, and
// the fence of each append keeps the log right whichever engine writes.
package lease

// Package readmodel answers what operators ask: workflows, runs, events and their jobs, the
// mutation ledger, inputs and what became of them, sessions, handlers, scripts.
//
// Guaranteed: every answer is a function of the log up to a moment not before the question. The
// same log gives the same bytes, whether the store was written along the way or rebuilt from
// nothing. One answer sees one moment. Lists are stable: rows that arrive between two pages
// neither shift nor repeat what is on them. The JSON names of the views are part of Pawl's
// interface.
//
// Not guaranteed: that two answers see the same moment, and that a filter is cheaper than the
// rows it has to look at.
package readmodel

// Command screenshots makes pictures of the console's views, in light and dark, at the width of a desk and of a phone:
//
//	go run ./cmd/screenshots DIR
//	go run ./cmd/screenshots docs ops/console/pictures
//
// The second makes those of the documents, light and dark alone, with few colours. They show a live engine: the
// program is built and started on an empty folder, its workflows are brought into every state by what happens to them
// (answers that are lost, approvals, scripts that fail, attempts that are used up), and a headless Chromium is logged
// in to it by a one-time link.
//
// The tests of this package use the console in the same way: each view that a link leads to, without errors in the
// browser, without a serious finding of axe-core, and no wider than a phone; hostile titles; pages that change while a
// person looks at them; the steps of a person who finds out, decides and repairs, also at a node that owns nothing; and
// a long history.
//
// world.go is the engine with its workflows, outside.go the server that they call, browser.go the browser, views.go
// finds the pages that are visited.
package main

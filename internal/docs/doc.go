// Package docs makes the pages that are made from code and data, and checks all
// documents of this repository. It has only tests. They check, among other things, that
//
//   - every relative link in a Markdown file leads somewhere, anchors included,
//     and docs/README.md lists every page;
//   - a comment or a page cites only sections of
//     docs/reference/upstream-behaviour.md and promises that exist;
//   - every file and test that docs/promises.yaml names exists;
//   - every row of docs/differences.yaml names a flag, a label or a promise that
//     exists, or says that it is about words only;
//   - the pages that "make generate" makes agree with their sources;
//   - the documents have no more words, and their tables no longer rows, than
//     size_test.go allows.
package docs

// Package docs checks the documents of this repository against its code. It has
// only tests. They check, among other things, that
//
//   - every relative link in a Markdown file leads somewhere, anchors included,
//     and docs/README.md lists every page;
//   - a comment or a page cites only sections of
//     docs/reference/upstream-behaviour.md and promises of docs/promises.md that
//     exist;
//   - every file and test that docs/promises.md names exists;
//   - every row of docs/compared-with-upstream.md names a flag, a label or a
//     promise that exists, or says that it is about words only;
//   - the pages of docs/reference that "make generate" makes from code agree with
//     that code;
//   - the documents have no more words, and their tables no longer rows, than
//     size_test.go allows.
package docs

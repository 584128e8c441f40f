// Package docs checks the documents of this repository against its code. It has
// only tests:
//
//   - every relative link in a Markdown file leads somewhere, anchors included,
//     and docs/README.md lists every page;
//   - a comment or a page cites only sections of
//     docs/reference/upstream-behaviour.md, and promises of docs/promises.md,
//     that exist;
//   - every file and test that docs/promises.md names exists;
//   - every row of docs/compared-with-upstream.md names a flag, a label or a
//     promise that exists, or says that it is about words only;
//   - the pages of docs/reference that are made from code agree with it.
//     "make generate" writes them.
package docs

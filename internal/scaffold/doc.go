// Package scaffold writes a project for a new provider: a copy of
// examples/provider under another name.
//
// The example is real code, which is built, tested and linted. It is another
// module, whose files a program cannot embed. So the package embeds the archive
// project.txtar, and a test compares the archive with the example.
package scaffold

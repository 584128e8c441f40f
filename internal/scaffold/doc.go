// Package scaffold writes a project for a new provider: a copy of
// examples/provider under another name.
//
// The example is real code that is built, tested and linted. It is another
// module, and a program cannot embed the files of another module. So this package
// embeds the archive project.txtar. A test compares the archive with the example.
package scaffold

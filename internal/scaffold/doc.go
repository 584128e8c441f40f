// Package scaffold makes the project of a vendor who writes a provider: a copy
// of examples/provider under another name.
//
// The example is real code, which is built, tested and linted. What is copied is
// the archive project.txtar, because a program cannot embed the files of another
// module; a test compares it with the example.
package scaffold

// Package faults holds the faults that are set, and decides what becomes of a
// call because of them: the Fate. It decides only; package api lets the call
// meet its fate.
//
// It imports wire, input and state (what a call asks for, and how the answer is
// distorted). Packages view and api and the root may import it.
package faults

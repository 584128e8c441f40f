//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "The playground runs on Linux only (in WSL 2 too): kubelets and the supervisor need its kernel.")
	os.Exit(1)
}

// Package testlog keeps the log of the tested code out of the results of the tests. Only
// tests import it.
package testlog

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// Run runs the tests of a package; it is called by the package's TestMain. Without -v the
// log goes into a file, which is kept if a test fails.
func Run(m *testing.M) {
	if flag.Parse(); testing.Verbose() {
		m.Run()
		return
	}
	file, err := os.CreateTemp("", "test-*.log")
	if err != nil {
		panic(err)
	}
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(file))))
	if m.Run() != 0 {
		fmt.Fprintln(os.Stderr, "The log is in", file.Name())
		return
	}
	if err := os.Remove(file.Name()); err != nil {
		panic(err)
	}
}

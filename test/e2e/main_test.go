package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/rights"
)

// shared is the bed on which most tests run. TestMain sets it. It is nil if
// FAIRLEAD_BIN is not set.
var shared *bed.Bed

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// run runs the tests. It stops everything that it has started, even after an interrupt.
func run(m *testing.M) (code int) {
	bin := os.Getenv("FAIRLEAD_BIN")
	if bin == "" {
		return m.Run()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp("", "fairlead-e2e-bin-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	testCCM := filepath.Join(dir, "testccm")
	if err := bed.BuildTestCCM(ctx, testCCM); err != nil {
		return fail(err)
	}
	var used rights.Usage
	if shared, err = bed.New(ctx, bed.Config{
		Programs:   bed.Programs{Dir: bin, TestCCM: testCCM},
		Repository: "../..",
		Access:     os.Getenv("FAIRLEAD_RIGHTS"),
		Used:       &used,
	}); err != nil {
		return fail(err)
	}
	defer func() {
		if err := shared.Close(); err != nil {
			code = fail(err)
		}
	}()
	version, err := shared.Admin.Discovery().ServerVersion()
	if err != nil {
		return fail(err)
	}
	fmt.Printf("e2e: Kubernetes %s is ready after %v\n", version, time.Since(began).Round(time.Second))
	// Parallel tests mostly wait, so there may be more of them than cores.
	if err := flag.Set("test.parallel", "8"); err != nil {
		return fail(err)
	}
	ended := make(chan int, 1)
	go func() { ended <- m.Run() }()
	select {
	case code = <-ended:
		if testing.Verbose() {
			fmt.Print(&used)
		}
		return code
	case <-ctx.Done():
		return fail(ctx.Err())
	}
}

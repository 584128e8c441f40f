package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// All tests use the same browser and program, which are set before the first test.
var (
	browser context.Context
	program string
)

// rebound is a host name that the browser resolves to this machine. A website can make
// its own name resolve to this machine, too.
const rebound = "rebound.example"

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fairlead:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	bin := os.Getenv("FAIRLEAD_BIN")
	if bin == "" {
		return 0, errors.New("FAIRLEAD_BIN must be the folder that simcloud is in; `make test-browser` sets it")
	}
	program = filepath.Join(bin, "simcloud")
	if _, err := os.Stat(program); err != nil {
		return 0, fmt.Errorf("%w; `make test-browser` builds it", err)
	}
	chromium, err := findChromium()
	if err != nil {
		return 0, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium),
		chromedp.Flag("host-resolver-rules", "MAP "+rebound+" 127.0.0.1"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // as root, Chromium refuses to start with a sandbox
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, closeBrowser := chromedp.NewContext(allocator)
	defer closeBrowser()
	if err := chromedp.Do(ctx); err != nil {
		return 0, fmt.Errorf("%s does not start: %w", chromium, err)
	}
	browser = ctx
	return m.Run(), nil
}

func findChromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("chromium, chromium-browser or google-chrome must be on the PATH; on Debian: apt-get install chromium")
}

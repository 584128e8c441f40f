package process

import (
	"os"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

func TestCPU(t *testing.T) {
	for name, row := range map[string]struct {
		stat string
		want time.Duration // negative: an error
	}{
		"UserAndSystem":  {"17 (ccm) S 1 17 17 0 -1 4194560 900 0 0 0 250 50 0 0 20 0 9 0 100", 3 * time.Second},
		"NameWithBraces": {"17 (a ) b (c)) S 1 17 17 0 -1 4194560 900 0 0 0 1 2 0 0 20 0 9 0 100", 30 * time.Millisecond},
		"CutOff":         {"17 (ccm) S 1 17", -1},
		"NoNumber":       {"17 (ccm) S 1 17 17 0 -1 4194560 900 0 0 0 x 50 0 0 20 0 9 0 100", -1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cpuOf([]byte(row.stat))
			if (err != nil) != (row.want < 0) || err == nil && got != row.want {
				t.Errorf("got %v, %v; want %v", got, err, row.want)
			}
		})
	}
}

func TestMemory(t *testing.T) {
	const status = "Name:\tccm\nVmPeak:\t  900 kB\nVmHWM:\t  1024 kB\nVmRSS:\t  512 kB\nVmSwap:\tmuch kB\n"
	for name, row := range map[string]struct {
		field string
		want  int64 // negative: an error
	}{
		"Peak":     {"VmHWM", 1 << 20},
		"Resident": {"VmRSS", 512 << 10},
		"Missing":  {"VmLck", -1},
		"NoNumber": {"VmSwap", -1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := memoryOf([]byte(status), row.field)
			if (err != nil) != (row.want < 0) || err == nil && got != row.want {
				t.Errorf("got %v, %v; want %v", got, err, row.want)
			}
		})
	}
}

// The usage of a real process can be read, even after its end.
func TestUsageOfAProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	p, err := Start(t.TempDir(), "sh", "-c", "echo ready; exec cat /dev/zero >/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Line(t.Context()); err != nil {
		t.Fatal(err)
	}
	for limit := timeout.New(time.Minute); ; {
		usage, err := p.Usage()
		if err != nil {
			t.Fatal(err)
		}
		if usage.CPU > 0 && usage.Peak > 0 && usage.Resident > 0 {
			break
		}
		if limit.IsOver() {
			t.Fatalf("after %v of work: %+v", limit.Elapsed(), usage)
		}
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if usage, err := p.Usage(); err != nil || usage.CPU == 0 {
		t.Errorf("after the end: %+v, %v", usage, err)
	}
	if p.Err() == nil {
		t.Error("a process that has ended must say so")
	}
}

package report

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is the machine on which a benchmark ran.
type Machine struct {
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memoryBytes"`
	System      string `json:"system"`
	Kernel      string `json:"kernel"`
	Go          string `json:"go"`
	// Load is the load average of the minute before the benchmark.
	Load float64 `json:"load"`
}

// IsBusy reports whether another program keeps the machine busy.
func (m Machine) IsBusy() bool { return m.Load > float64(m.Cores)/2 }

// ThisMachine describes this machine. A field stays empty if the system does not show
// its value.
func ThisMachine() Machine {
	return Machine{
		CPU:         field("/proc/cpuinfo", "model name"),
		Cores:       runtime.NumCPU(),
		MemoryBytes: kilobytes(field("/proc/meminfo", "MemTotal")),
		System:      runtime.GOOS + "/" + runtime.GOARCH,
		Kernel:      kernel(),
		Go:          runtime.Version(),
		Load:        load(),
	}
}

// field reads a file with lines "key : value" and returns the first value of the key.
func field(file, key string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		k, value, _ := strings.Cut(scanner.Text(), ":")
		if strings.TrimSpace(k) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func kilobytes(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return n
}

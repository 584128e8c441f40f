package process

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is the resource usage of a process since its start.
type Usage struct {
	CPU      time.Duration // user and system
	Peak     int64         // largest resident memory, in bytes; 0 when it has ended
	Resident int64         // resident memory now, in bytes; 0 when it has ended
}

// Usage reads the usage from the kernel. For a process that has ended, only the
// CPU time is known.
func (p *Process) Usage() (Usage, error) {
	select {
	case <-p.done:
		state := p.cmd.ProcessState
		return Usage{CPU: state.UserTime() + state.SystemTime()}, nil
	default:
	}
	dir := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return Usage{}, err
	}
	cpu, err := cpuOf(stat)
	if err != nil {
		return Usage{}, err
	}
	peak, err := memoryOf(status, "VmHWM")
	if err != nil {
		return Usage{}, err
	}
	resident, err := memoryOf(status, "VmRSS")
	return Usage{CPU: cpu, Peak: peak, Resident: resident}, err
}

// tick is the unit of the times in /proc/PID/stat. It is the same on every Linux.
const tick = 10 * time.Millisecond

// cpuOf reads /proc/PID/stat. The second field is the program's name in
// brackets. The name may contain anything, even brackets.
func cpuOf(stat []byte) (time.Duration, error) {
	const user, system = 11, 12 // indices in the fields after the name
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/PID/stat has %d fields after the name", len(fields))
	}
	var ticks int64
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/PID/stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// memoryOf reads a field of /proc/PID/status, in bytes.
func memoryOf(status []byte, field string) (int64, error) {
	for scanner := bufio.NewScanner(bytes.NewReader(status)); scanner.Scan(); {
		value, found := strings.CutPrefix(scanner.Text(), field+":")
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/PID/status: %w", err)
		}
		return n << 10, nil
	}
	return 0, fmt.Errorf("/proc/PID/status has no %s", field)
}

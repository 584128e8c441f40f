package supervisor

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// launcher starts processes that are killed when this process ends, even after a crash.
//
// The kernel sends the parent-death signal when the thread that started a child ends, not when the
// process ends. So all children are started from one goroutine that keeps its thread until the
// supervisor ends.
type launcher struct {
	requests chan launch
	done     chan struct{}
	once     sync.Once
}

type launch struct {
	cmd    *exec.Cmd
	result chan<- error
}

func newLauncher() *launcher {
	l := &launcher{requests: make(chan launch), done: make(chan struct{})}
	go l.run()
	return l
}

func (l *launcher) run() {
	defer close(l.done)
	runtime.LockOSThread()
	for r := range l.requests {
		r.result <- r.cmd.Start()
	}
}

// start starts cmd in its own process group, so that Ctrl-C interrupts only the supervisor.
func (l *launcher) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	result := make(chan error)
	l.requests <- launch{cmd: cmd, result: result}
	return <-result
}

// stop ends the thread that has started the children. The kernel then kills all
// children that still run.
func (l *launcher) stop() {
	l.once.Do(func() { close(l.requests) })
	<-l.done
}

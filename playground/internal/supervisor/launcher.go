package supervisor

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// launcher starts processes that die with this one, however it dies.
//
// The kernel sends the parent-death signal when the *thread* that started the process ends, not the process. So all
// are started from one goroutine that keeps its thread for as long as the supervisor lives.
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

// start starts cmd in a process group of its own, so that Ctrl-C reaches the supervisor alone.
func (l *launcher) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	result := make(chan error)
	l.requests <- launch{cmd: cmd, result: result}
	return <-result
}

// stop ends the thread. Processes that still run end with it.
func (l *launcher) stop() {
	l.once.Do(func() { close(l.requests) })
	<-l.done
}

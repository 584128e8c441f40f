// Package control lets other processes of the same user inspect a running playground and stop, start and restart its
// children. It serves HTTP on a Unix socket in the data folder.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/fairlead-k8s/fairlead/playground/internal/supervisor"
)

const (
	socket = "control.sock"
	// stopTimeout is the time that a child has to end before it is killed. An API server with open
	// watches would take up to a minute.
	stopTimeout   = 10 * time.Second
	headerTimeout = 5 * time.Second
)

// Children are the processes to control.
type Children interface {
	List() []supervisor.Status
	Stop(ctx context.Context, name string, signal syscall.Signal) error
	Resume(name string) error
}

// Listen opens the socket in dir. It replaces the socket of an earlier playground, so the caller must hold the lock on
// the folder.
func Listen(ctx context.Context, dir string) (net.Listener, error) {
	path, release, err := shortPath(dir)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	defer release()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	// Closing the listener must not remove the file at this path: once release has closed the
	// folder, the path could lead to another file.
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	return listener, nil
}

// Serve answers requests on listener until ctx ends. Then it closes listener.
func Serve(ctx context.Context, listener net.Listener, children Children) error {
	server := &http.Server{Handler: handler(children), ReadHeaderTimeout: headerTimeout}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("control socket: %w", err)
	}
	return nil
}

// shortPath returns a short path of the socket. The path leads through an open file
// descriptor of the folder. It is needed because the path of a Unix socket can have only
// about a hundred characters, and test folders can have longer paths.
func shortPath(dir string) (path string, release func(), err error) {
	folder, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), socket), func() { _ = folder.Close() }, nil
}

func handler(children Children) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /children", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(children.List()) // writing fails only if the client has gone
	})
	stop := func(r *http.Request) error {
		signal := syscall.SIGTERM
		if r.URL.Query().Has("kill") {
			signal = syscall.SIGKILL
		}
		ctx, cancel := context.WithTimeout(r.Context(), stopTimeout)
		defer cancel()
		return children.Stop(ctx, r.PathValue("name"), signal)
	}
	start := func(r *http.Request) error { return children.Resume(r.PathValue("name")) }
	mux.HandleFunc("POST /children/{name}/stop", answer(stop))
	mux.HandleFunc("POST /children/{name}/start", answer(start))
	mux.HandleFunc("POST /children/{name}/restart", answer(func(r *http.Request) error {
		if err := stop(r); err != nil {
			return err
		}
		return start(r)
	}))
	return mux
}

func answer(do func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(r); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

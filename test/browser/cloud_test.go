package browser

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cloud is a simulated cloud in a separate process.
type cloud struct {
	t     *testing.T
	flags []string
	url   string
	cmd   *exec.Cmd
}

func startCloud(t *testing.T, flags ...string) *cloud {
	t.Helper()
	c := &cloud{t: t, flags: append([]string{"serve", "--check-interval=50ms"}, flags...)}
	c.start("127.0.0.1:0")
	t.Cleanup(c.kill)
	return c
}

func (c *cloud) start(address string) {
	c.t.Helper()
	// The process outlives the test's context, so that a picture of the page after a failure shows
	// a live page.
	c.cmd = exec.CommandContext(context.WithoutCancel(c.t.Context()), program, append(c.flags, "--listen="+address)...)
	log, err := os.OpenFile(filepath.Join(c.t.ArtifactDir(), "simcloud.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the process has its own handle
	c.cmd.Stderr = log
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "simcloud: listening on ")
	if !ok {
		c.t.Fatalf("simcloud serve says %q, %v; its log is %s", line, err, log.Name())
	}
	c.url = url
}

// kill ends the process as a crash does.
func (c *cloud) kill() {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Error(err)
	}
	_ = c.cmd.Wait() // the error only says that it was killed
}

func (c *cloud) signal(s os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// restart starts the cloud again at the same address.
func (c *cloud) restart() {
	c.t.Helper()
	c.start(strings.TrimPrefix(c.url, "http://"))
}

// operate runs a command of simcloud as the operator.
func (c *cloud) operate(line string, more ...string) string {
	c.t.Helper()
	out, err := c.command(append(strings.Fields(line), more...)...)
	if err != nil {
		c.t.Fatalf("simcloud %s: %v", line, err)
	}
	return out
}

// call sends a GET request for /v1/<path> as a customer, and returns the status.
func (c *cloud) call(path string) int {
	c.t.Helper()
	status, _ := c.request(http.MethodGet, "/v1/"+path, "")
	return status
}

func (c *cloud) command(args ...string) (string, error) {
	cmd := exec.CommandContext(c.t.Context(), program, append(args, "--server="+c.url)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, said.String())
	}
	return string(out), nil
}

// post creates a resource through the API. Unlike operate, it starts no process, and
// it can create resources that the command line would refuse.
func (c *cloud) post(collection, body string) {
	c.t.Helper()
	if status, said := c.request(http.MethodPost, "/operator/v1/"+collection, body); status >= 300 {
		c.t.Fatalf("POST %s: %d %s", collection, status, said)
	}
}

func (c *cloud) request(method, path, body string) (status int, said string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	content, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		c.t.Fatal(err)
	}
	return answer.StatusCode, string(content)
}

// backend accepts connections at an address of its own.
type backend struct {
	address, port string
	listener      net.Listener
}

// startBackends listens on the same port of n addresses.
func startBackends(t *testing.T, n int) []*backend {
	t.Helper()
	network := fmt.Sprintf("127.62.%d.", 1+rand.IntN(250)) // other tests might run on this machine at the same time
	var all []*backend
	port := "0"
	for i := range n {
		b := &backend{address: fmt.Sprint(network, i+1)}
		var config net.ListenConfig
		listener, err := config.Listen(t.Context(), "tcp4", b.address+":"+port)
		if err != nil {
			t.Fatal(err)
		}
		b.listener = listener
		if _, port, err = net.SplitHostPort(listener.Addr().String()); err != nil {
			t.Fatal(err)
		}
		b.port = port
		t.Cleanup(b.stop)
		go b.greet()
		all = append(all, b)
	}
	return all
}

// greet answers each connection with the backend's address, until the backend is stopped.
func (b *backend) greet() {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, b.address+"\n") // a health check does not wait for the greeting
		_ = conn.Close()
	}
}

func (b *backend) stop() { _ = b.listener.Close() } // a test may have stopped it already

// connect makes a connection through a load balancer and reads until its end.
func connect(t *testing.T, address string) {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(conn)
	if err := errors.Join(err, conn.Close()); err != nil || len(said) == 0 {
		t.Fatalf("the backend says %q, %v", said, err)
	}
}

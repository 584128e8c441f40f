package explain

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/inspect"
	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// daemonFlags are the flags for the connection to the leading daemon.
type daemonFlags struct {
	url, ca  string
	insecure bool
}

func (d *daemonFlags) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&d.url, "daemon", "", "also ask the leading daemon what it remembers, at https://HOST:10258. The daemon gets the credentials in your kubeconfig file")
	f.StringVar(&d.ca, "daemon-ca", "", "file with the certificate authority of --daemon (default: the authorities that this machine trusts)")
	f.BoolVar(&d.insecure, "daemon-insecure", false, "do not verify the certificate of --daemon. Needed if the daemon has made it itself. Whoever answers gets your token, if you have one")
	_ = c.RegisterFlagCompletionFunc("daemon", cobra.NoFileCompletions) // cannot fail, because the flag exists
}

const (
	// answersWithin is the time that the daemon gets to answer.
	answersWithin = 5 * time.Second
	// maxAnswer is the maximum number of bytes that are read from an answer.
	maxAnswer = 1 << 20
)

// asked is a connection for asking a daemon what it remembers about an object.
type asked struct {
	url    string
	client *http.Client
}

// open returns the connection to the daemon. It returns nil if --daemon is not
// set.
func (d *daemonFlags) open(cluster *inspect.Cluster) (*asked, error) {
	if d.url == "" {
		return nil, nil //nolint:nilnil // see above
	}
	at, err := url.Parse(d.url)
	if err != nil || at.Scheme != "https" || at.Host == "" || at.User != nil || strings.Trim(at.Path, "/") != "" || at.RawQuery != "" {
		return nil, fmt.Errorf("--daemon: %q is not https://HOST:PORT", d.url)
	}
	if d.ca != "" && d.insecure {
		return nil, errors.New("--daemon-ca and --daemon-insecure exclude each other")
	}
	config := rest.CopyConfig(cluster.Config)
	config.Host = at.Host
	config.Proxy = nil
	config.ServerName, config.CAData, config.CAFile, config.Insecure = "", nil, d.ca, d.insecure
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("--daemon: %w", err)
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // The credentials are for this host only.
	return &asked{"https://" + at.Host, client}, nil
}

// remembered is the answer of a daemon.
type remembered struct {
	Version     string        `json:"version"`
	Controllers []step.Memory `json:"controllers"`
}

// anonymous is the name that the API server gives to callers without credentials.
const anonymous = "system:anonymous"

// memory returns what the daemon remembers about an object. The result is empty if
// the daemon remembers nothing about the object.
func (a *asked) memory(ctx context.Context, o Object) (r remembered, err error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+step.MemoryPath+o.Kind+"/"+o.Key, nil)
	if err != nil {
		return r, err
	}
	response, err := a.client.Do(request)
	if _, unverified := errors.AsType[*tls.CertificateVerificationError](err); unverified {
		return r, fmt.Errorf("%w; name the file of its authority with --daemon-ca, or use --daemon-insecure", err)
	}
	if err != nil {
		return r, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return r, err
	}
	switch text := printable.Line(strings.TrimSpace(string(body)), maxLine); response.StatusCode {
	case http.StatusOK:
		return r, json.Unmarshal(body, &r)
	case http.StatusNotFound:
		if strings.HasPrefix(text, "no controller") {
			return r, nil
		}
		return r, errors.New("it does not serve what it remembers: it is older than this program, or it is another program")
	case http.StatusUnauthorized, http.StatusForbidden:
		if response.StatusCode == http.StatusUnauthorized || strings.Contains(text, anonymous) {
			return r, fmt.Errorf("it does not know you: it accepts no credentials of this kubeconfig's user: %s", text)
		}
		return r, fmt.Errorf("you need the right to get the non-resource URL %s*: %s", step.MemoryPath, text)
	default:
		return r, fmt.Errorf("%s: %s", response.Status, text)
	}
}

// askedToo adds to the answer what the daemon remembers about the object. If the daemon
// cannot be asked, askedToo adds the reason.
func (a Answer) askedToo(ctx context.Context, d *asked) Answer {
	if d == nil {
		return a
	}
	r, err := d.memory(ctx, a.Object)
	if err != nil {
		a.NotLive = fmt.Sprintf("%s could not be asked: %v", d.url, err)
		return a
	}
	a.Source, a.Daemon.Version, a.Memory = Live, r.Version, r.Controllers
	if len(r.Controllers) == 0 {
		a.NotLive = d.url + " remembers nothing about it"
	}
	return a
}

// memory writes what one controller remembers.
func (l *lines) memory(m step.Memory) {
	l.add("memory", "%s", m.Controller)
	switch {
	case m.Reason != "" && m.Text != "":
		l.add("", "it waits because of %s: %s", m.Reason, m.Text)
	case m.Reason != "":
		l.add("", "it waits because of %s", m.Reason)
	case m.Text != "":
		l.add("", "it waits: %s", m.Text)
	}
	if !m.Since.IsZero() {
		l.add("", "since %s, for %s", m.Since.UTC().Format(time.RFC3339), l.ago(m.Since))
	}
	if e := m.Evidence; e != nil {
		l.add("", "evidence: absent %d of %d times, for %s of %s", e.Absences, e.Of, l.ago(e.Since), e.For)
	}
	if m.Said != "" {
		at := ""
		if !m.SaidAt.IsZero() {
			at = " " + l.ago(m.SaidAt) + " ago"
		}
		l.add("", "the cloud%s: %s", at, m.Said)
	}
	if n := len(m.Backends); n > 0 {
		const most = 20
		l.add("", "nodes behind it: %d: %s", n, strings.Join(m.Backends[:min(n, most)], ", ")+map[bool]string{true: ", …"}[n > most])
	}
	if m.Attempts > 0 {
		l.add("", "%d calls in a row have not ended the wait", m.Attempts)
	}
	if m.Do != "" {
		l.add("", "next: %s", m.Do)
	}
	if wait := m.NextLook.Sub(l.now); wait > 0 {
		l.add("", "looks again in %s at the latest", wait.Round(time.Second))
	}
}

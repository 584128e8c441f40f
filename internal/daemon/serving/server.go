package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/mux"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of requests and of the election
	"k8s.io/component-base/metrics/prometheus/slis"
	_ "k8s.io/component-base/metrics/prometheus/version" // kubernetes_build_info
	cmapp "k8s.io/controller-manager/app"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

const (
	// closeTimeout is the time that open requests get when the process ends.
	closeTimeout = time.Second
	// headerLimit bounds the header of a request in bytes. A token has a few thousand.
	headerLimit = 16 << 10
	// headerFields bounds the names in it. Many short fields take ten times their size in
	// memory, as long as nobody reads the answer.
	headerFields = 64
	// headerTimeout, writeTimeout and idleTimeout are the longest times that a header may
	// take to arrive, an answer to be read, and a connection to be without a request. A
	// profile of /debug/pprof must be shorter than writeTimeout.
	headerTimeout, writeTimeout, idleTimeout = 5 * time.Second, 2 * time.Minute, 90 * time.Second
	// streamsAtOnce is the number of requests at the same time on one connection. A client
	// with more opens another connection.
	streamsAtOnce = 8
	// longestChain bounds the time that the verification of a client certificate takes,
	// and certificateLimit the memory that a connection keeps for its certificates. It is
	// the size of all of them in bytes. A usual one has a thousand or two.
	longestChain, certificateLimit = 5, 8 << 10
	// minBuffer bounds what HTTP/2 buffers of a body, and minFrame the buffer of a connection
	// for the frame that is being read. They are the smallest sizes that HTTP/2 allows. A
	// connection buffers twice as much: while one body waits, others can arrive.
	minBuffer, minFrame = 64 << 10, 16 << 10
)

// Config is the configuration of the HTTPS server.
type Config struct {
	Secure         *apiserveroptions.SecureServingOptions
	Authentication *apiserveroptions.DelegatingAuthenticationOptions
	Authorization  *apiserveroptions.DelegatingAuthorizationOptions
	Debugging      *componentbaseconfig.DebuggingConfiguration
	Component      Component
	// Metrics has the registries of the program's own metrics.
	Metrics []metrics.Gatherer
	// Objects returns what the controllers remember about an object. If it is nil, the
	// server has no page for that.
	Objects Objects
}

// registries returns the registries that /metrics serves. If two metrics have the
// same name, ours is served.
func (c Config) registries(ours metrics.Gatherer) gatherers {
	all := gatherers{ours, legacyregistry.DefaultGatherer}
	for _, g := range c.Metrics {
		all = append(all, foreign{g})
	}
	return all
}

// Serve starts to serve HTTPS, unless serving is turned off. The server runs until
// stop is called. It does not end with ctx, so that the process can be observed
// while it waits for its last work.
func Serve(ctx context.Context, c Config, h *Health, registry metrics.Gatherer) (stop func(), err error) {
	l, err := c.listen()
	if err != nil || l == nil {
		return func() {}, err
	}
	h.certificates("certificates", c.Secure, l.secure)
	return serve(ctx, l.secure, cmapp.BuildHandlerChain(handler(c, h, c.registries(registry)), &l.authorization, &l.authentication)), nil
}

// serve serves on the port until stop is called. Unlike the library's server, it bounds
// what callers can make it keep or log.
func serve(ctx context.Context, s *server.SecureServingInfo, h http.Handler) (stop func()) {
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	logger := klog.FromContext(ctx)
	connections := newBounded(s.Listener, connectionsAtOnce)
	streams := s.HTTP2MaxStreamsPerConnection
	if streams <= 0 {
		streams = streamsAtOnce
	}
	served := &http.Server{
		Handler:           withFewFields(h),
		TLSConfig:         tlsConfig(serving, s),
		MaxHeaderBytes:    headerLimit,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       -1, // see connection.idle
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: streams, MaxReadFrameSize: minFrame, MaxReceiveBufferPerStream: minBuffer, MaxReceiveBufferPerConnection: 2 * minBuffer, WriteByteTimeout: writeTimeout},
		Protocols:         new(http.Protocols),
		ConnState:         connections.note,
		ErrorLog:          log.New(&serverLog{logger: logger, few: newFew()}, "", 0),
	}
	served.Protocols.SetHTTP1(true)
	served.Protocols.SetHTTP2(!s.DisableHTTP2)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := served.ServeTLS(connections, "", ""); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("stopped listening on %s: %v", s.Listener.Addr(), err))
		}
	}()
	logger.Info("Serving securely on " + s.Listener.Addr().String()) // as upstream says it, because scripts wait for this
	return func() {
		closing, cancelClosing := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancelClosing()
		_ = served.Shutdown(closing) // open requests may take longer
		cancel()
		<-ended
	}
}

// withFewFields serves requests with a usual number of fields in the header. Others get no
// answer, because the caller might not read it.
func withFewFields(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header) > headerFields {
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(quiet{w}, r)
	})
}

// quiet is the writer of an answer. It hides that the caller has closed the connection,
// because the library writes several lines to the log about each such answer.
type quiet struct{ http.ResponseWriter }

func (q quiet) Write(p []byte) (int, error) {
	_, _ = q.ResponseWriter.Write(p)
	return len(p), nil
}

// Flush implements http.Flusher.
func (q quiet) Flush() { _ = http.NewResponseController(q.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController find the connection.
func (q quiet) Unwrap() http.ResponseWriter { return q.ResponseWriter }

// tlsConfig returns the configuration of a port. Until ctx ends, it follows changes of the
// certificate files.
func tlsConfig(ctx context.Context, s *server.SecureServingInfo) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: s.CipherSuites, CurvePreferences: s.CurvePreferences, NextProtos: []string{"h2", "http/1.1"}}
	if s.MinTLSVersion > 0 {
		c.MinVersion = s.MinTLSVersion
	}
	if s.DisableHTTP2 {
		c.NextProtos = c.NextProtos[1:]
	}
	if s.ClientCA != nil {
		c.ClientAuth = tls.RequestClientCert // Whether it is valid is found out for each request.
		c.VerifyConnection = func(s tls.ConnectionState) error {
			size := 0
			for _, certificate := range s.PeerCertificates {
				size += len(certificate.Raw)
			}
			if len(s.PeerCertificates) > longestChain || size > certificateLimit {
				return errors.New("too many certificates, or too large ones")
			}
			return nil
		}
	}
	newest := followFiles(ctx, s, c)
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		current, err := newest(hello)
		client, ok := hello.Conn.(*connection)
		if err != nil || !ok {
			return current, err
		}
		return inSteps(client, current), nil
	}
	return c
}

// inSteps returns the configuration of a connection whose client has made its offer. It
// bounds what the client sends until its certificate is read, if it has one.
func inSteps(client *connection, c *tls.Config) *tls.Config {
	client.begin(handshakeLimit)
	own := c.Clone()
	own.VerifyConnection = func(s tls.ConnectionState) error {
		client.begin(earlyLimit)
		if c.VerifyConnection == nil {
			return nil
		}
		return c.VerifyConnection(s)
	}
	return own
}

// followFiles reads the certificates of a port, and again when their files change. It
// returns the function that gives each connection the newest ones.
func followFiles(ctx context.Context, s *server.SecureServingInfo, c *tls.Config) func(*tls.ClientHelloInfo) (*tls.Config, error) {
	current := dynamiccertificates.NewDynamicServingCertificateController(c, s.ClientCA, s.Cert, s.SNICerts, nil)
	var files []dynamiccertificates.Notifier
	if s.ClientCA != nil {
		files = append(files, s.ClientCA)
	}
	if s.Cert != nil {
		files = append(files, s.Cert)
	}
	for _, cert := range s.SNICerts {
		files = append(files, cert)
	}
	for _, file := range files {
		file.AddListener(current)
		if runner, ok := file.(dynamiccertificates.ControllerRunner); ok {
			if err := runner.RunOnce(ctx); err != nil {
				klog.FromContext(ctx).Error(err, "Certificates cannot be read yet")
			}
			go runner.Run(ctx, 1)
		}
	}
	if err := current.RunOnce(); err != nil {
		klog.FromContext(ctx).Error(err, "Certificates cannot be used yet")
	}
	go current.Run(1, ctx.Done())
	return current.GetConfigForClient
}

// listen binds the port, with a certificate from files or a self-signed one.
// It returns nil for port 0.
func listen(o *apiserveroptions.SecureServingOptions) (info *server.SecureServingInfo, err error) {
	if err := o.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, fmt.Errorf("self-signed certificate: %w", err)
	}
	if err := o.ApplyTo(&info); err != nil || info == nil {
		return nil, err
	}
	return info, nil
}

// portInUse adds the flag to an error if the error says that another process has the
// port. It returns other errors unchanged.
func portInUse(flag string, err error) error {
	if !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) { // The library does not wrap EADDRINUSE.
		return err
	}
	return fmt.Errorf("%s: another process has this port; choose another one, or 0 to serve nothing: %w", flag, err)
}

// listener is a server that is ready to serve: the port is bound, and requests
// can be authenticated and authorized.
type listener struct {
	secure         *server.SecureServingInfo
	authentication server.AuthenticationInfo
	authorization  server.AuthorizationInfo
}

// listen binds the port. It returns nil when serving is turned off.
func (c Config) listen() (*listener, error) {
	secure, err := listen(c.Secure)
	if err != nil {
		return nil, fmt.Errorf("serving: %w", portInUse("--secure-port", err))
	}
	if secure == nil {
		return nil, nil
	}
	l := &listener{secure: secure}
	if err := c.Authentication.ApplyTo(&l.authentication, l.secure, nil); err != nil {
		return nil, fmt.Errorf("authentication of requests: %w", err)
	}
	l.authentication.Authenticator = newReviewed(l.authentication.Authenticator, c.Authentication.CacheTTL, clock.RealClock{})
	if err := c.Authorization.ApplyTo(&l.authorization); err != nil {
		return nil, fmt.Errorf("authorization of requests: %w", err)
	}
	l.authorization.Authorizer, err = newAuthorized(l.authorization.Authorizer, c.Authorization, clock.RealClock{})
	if err != nil {
		return nil, fmt.Errorf("authorization of requests: %w", err)
	}
	return l, nil
}

// handler answers requests that have passed authentication and authorization.
func handler(c Config, h *Health, registry metrics.Gatherer) http.Handler {
	m := cmapp.NewBaseHandler(c.Debugging, h.healthz)
	m.Unregister("/metrics")
	m.Handle("/metrics", newScrapes(registry, clock.RealClock{}))
	slis.SLIMetricsWithReset{}.Install(m)
	install(m, h.livez)
	install(m, h.readyz)
	if c.Objects != nil {
		m.HandlePrefix(step.MemoryPath, newObjectsHandler(c.Objects, c.Component.Version))
	}
	c.Component.install(m)
	return m
}

// install adds the path of a probe, and a path below it for each check. The path of
// a check says why the check fails. By default, these paths need authorization. As
// with upstream, /healthz has no paths for checks.
func install(m *mux.PathRecorderMux, p *probe) {
	m.Handle(p.path, p)
	m.HandlePrefix(p.path+"/", p)
}

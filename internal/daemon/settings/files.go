package settings

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"

	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/util/cert"
)

// The flags in both lists name files that are read at the start. The files of the flags
// in the first list are always read. The files of the flags in servedFiles are read
// only if the process serves something.
var (
	files       = []string{"cloud-config", "kubeconfig"}
	servedFiles = []string{
		"authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file", "requestheader-client-ca-file",
		"tls-cert-file", "tls-private-key-file", "webhook-client-ca-file", "webhook-tls-cert-file", "webhook-tls-private-key-file",
	}
)

// unreadable returns an error for each flag whose file cannot be read.
func (s *Settings) unreadable(names []string) []error {
	var errs []error
	for _, name := range names {
		if file := s.flags.Lookup(name).Value.String(); file != "" {
			if err := readable(file); err != nil {
				errs = append(errs, fmt.Errorf("--%s: %w", name, err))
			}
		}
	}
	return errs
}

// wrongServedFiles returns the errors in the files of servers. The library's errors
// about certificates name neither the flag nor the file.
func (s *Settings) wrongServedFiles() []error {
	errs := s.unreadable(servedFiles)
	// The files of a server are checked only if that server runs. With --shadow, no
	// webhooks are served.
	if s.Serving.Secure.BindPort > 0 {
		errs = append(errs, wrongCertificates("", s.Serving.Secure)...)
		errs = append(errs, s.wrongAuthorities("client-ca-file", "requestheader-client-ca-file")...)
	}
	if len(s.Webhooks.Served()) > 0 && !s.Shadow.On {
		errs = append(errs, wrongCertificates(webhookPrefix, s.Webhooks.Secure)...)
		errs = append(errs, s.wrongAuthorities("webhook-client-ca-file")...)
	}
	return errs
}

func readable(file string) error {
	f, err := os.Open(file) //nolint:gosec // a flag names it
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a folder", file)
	}
	return nil
}

// isPipe reports whether the file is a pipe. A pipe is not checked, because it can
// be read only once, and the server must be the one that reads it.
func isPipe(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// isUnreadable reports whether the error is about a file that cannot be read. If a flag
// in servedFiles names the file, the method unreadable has already reported this error.
func isUnreadable(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok
}

// wrongCertificates returns the errors in the certificates and keys of a server.
// prefix is the prefix of the server's flags.
func wrongCertificates(prefix string, o *apiserveroptions.SecureServingOptions) []error {
	var errs []error
	if pair := o.ServerCert.CertKey; pair.CertFile != "" && pair.KeyFile != "" && !isPipe(pair.CertFile) && !isPipe(pair.KeyFile) {
		if _, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile); err != nil && !isUnreadable(err) {
			errs = append(errs, fmt.Errorf("--%[1]stls-cert-file=%[2]s and --%[1]stls-private-key-file=%[3]s must be a certificate and its key in PEM: %[4]w", prefix, pair.CertFile, pair.KeyFile, err))
		}
	}
	for _, pair := range o.SNICertKeys {
		if isPipe(pair.CertFile) || isPipe(pair.KeyFile) {
			continue
		}
		if _, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile); err != nil {
			errs = append(errs, fmt.Errorf("--%stls-sni-cert-key=%s,%s must be a certificate and its key in PEM: %w", prefix, pair.CertFile, pair.KeyFile, err))
		}
	}
	return errs
}

// wrongAuthorities returns the errors in files of CA certificates. names are the
// flags that name these files.
func (s *Settings) wrongAuthorities(names ...string) []error {
	var errs []error
	for _, name := range names {
		file := s.flags.Lookup(name).Value.String()
		if file == "" || isPipe(file) {
			continue
		}
		text, err := os.ReadFile(file) //nolint:gosec // a flag names it
		if err == nil {
			_, err = cert.NewPoolFromBytes(text)
		}
		if err != nil && !isUnreadable(err) {
			errs = append(errs, fmt.Errorf("--%s=%s must have certificates in PEM: %w", name, file, err))
		}
	}
	return errs
}

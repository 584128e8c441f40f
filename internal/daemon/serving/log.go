package serving

import (
	"errors"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/printable"
)

const (
	// firstFailures is the number of failures caused by callers that are logged
	// without a limit. After these, one failure per second is logged. The metrics
	// count all failures.
	firstFailures = 10
	// quoteLimit is the maximum length of a quotation from a request. errorLimit is
	// the maximum length of an error in an answer and in the log. Both are in bytes.
	quoteLimit, errorLimit = 100, 1000
)

// newFew returns a bound of the failures that are logged. Any caller that reaches the port
// can cause any number of them.
func newFew() *rate.Sometimes { return &rate.Sometimes{First: firstFailures, Interval: time.Second} }

// cut returns an error for the log. A caller can have chosen words of the error.
func cut(err error) error { return errors.New(printable.Line(err.Error(), errorLimit)) }

// serverLog is the log of an http.Server. Its lines are about connections that failed.
type serverLog struct {
	logger klog.Logger
	few    *rate.Sometimes
}

// Write implements io.Writer.
func (l *serverLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if strings.Contains(text, "TLS handshake error") { // as upstream counts and logs them
		metrics.TLSHandshakeErrors.Inc()
		l.logger.V(5).Info("A connection failed", "err", printable.Line(text, errorLimit))
		return len(line), nil
	}
	l.few.Do(func() { l.logger.Info("A connection failed", "err", printable.Line(text, errorLimit)) })
	return len(line), nil
}

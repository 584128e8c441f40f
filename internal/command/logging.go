package command

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// valueLimit is the maximum length of a value in the log, in bytes.
const valueLimit = 8 << 10

// shown is an error whose text is one safe line. Parts of the original text may come
// from clouds, tenants and callers.
type shown struct{ error }

func (s shown) Error() string { return printable.Line(s.error.Error(), valueLimit) }

func (s shown) Unwrap() error { return s.error }

// show returns an error whose text is one safe line. It returns nil for nil.
func show(err error) error {
	if err == nil {
		return nil
	}
	return shown{err}
}

// withPrintableLog returns a context whose logger writes each entry as one line,
// even if its values come from others. Without it, the text format would write a
// value of several lines unchanged. Stacks of panics keep their lines.
func withPrintableLog(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.New(printableSink{deeper(klog.FromContext(ctx).GetSink(), 1)}))
}

// printableSink is the sink of a logger, and wraps another sink. It adds a frame to the
// stack. So the wrapped sink has to skip one more frame to find the line of code that
// logs.
type printableSink struct{ to klog.LogSink }

func (printableSink) Init(klog.RuntimeInfo) {}

func (s printableSink) Enabled(level int) bool { return s.to.Enabled(level) }

func (s printableSink) Info(level int, message string, values ...any) {
	s.to.Info(level, printable.Line(message, valueLimit), clean(values)...)
}

func (s printableSink) Error(err error, message string, values ...any) {
	s.to.Error(show(err), printable.Line(message, valueLimit), clean(values)...)
}

func (s printableSink) WithValues(values ...any) klog.LogSink {
	return printableSink{s.to.WithValues(clean(values)...)}
}

func (s printableSink) WithName(name string) klog.LogSink {
	return printableSink{s.to.WithName(name)}
}

func (s printableSink) WithCallDepth(depth int) klog.LogSink {
	return printableSink{deeper(s.to, depth)}
}

func deeper(s klog.LogSink, depth int) klog.LogSink {
	if d, ok := s.(interface{ WithCallDepth(int) klog.LogSink }); ok {
		return d.WithCallDepth(depth)
	}
	return s
}

// clean returns the keys and values of an entry. It makes the values printable.
func clean(pairs []any) []any {
	cleaned := make([]any, len(pairs))
	for i, value := range pairs {
		if i%2 == 1 && pairs[i-1] == "stack" {
			cleaned[i] = value
			continue
		}
		cleaned[i] = cleanValue(value)
	}
	return cleaned
}

func cleanValue(value any) any {
	switch v := value.(type) {
	case string:
		return printable.Line(v, valueLimit)
	case error:
		return shown{v}
	case []string:
		text := fmt.Sprint(v)
		if clean := printable.Line(text, valueLimit); clean != text {
			return clean
		}
	case fmt.Stringer:
		return cleanStringer(v)
	}
	return value
}

// cleanStringer returns the printable form of the value's text. If the text is
// printable already, it returns the value itself, because the value's JSON may
// differ from its text.
func cleanStringer(v fmt.Stringer) (cleaned any) {
	defer func() {
		if recover() != nil {
			cleaned = v // a nil pointer, which the format can show
		}
	}()
	text := v.String()
	if clean := printable.Line(text, valueLimit); clean != text {
		return clean
	}
	return v
}

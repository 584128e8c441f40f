package audit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	written = `{"verb":"patch","user":{"username":"cloud-controller-manager"},"objectRef":{"resource":"nodes","subresource":"status","name":"n1"},"responseStatus":{"code":200}}` + "\n"
	foreign = `{"verb":"patch","user":{"username":"system:node-controller"},"objectRef":{"resource":"nodes","name":"n1"},"responseStatus":{"code":200}}` + "\n"
	refused = `{"verb":"delete","user":{"username":"cloud-controller-manager"},"objectRef":{"resource":"nodes","name":"n2"},"responseStatus":{"code":403}}` + "\n"
	path    = `{"verb":"get","user":{"username":"cloud-controller-manager"},"requestURI":"/healthz?timeout=1s","responseStatus":{"code":200}}` + "\n"
)

func logOf(t *testing.T, text string) File {
	t.Helper()
	file := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return File(file)
}

func TestSince(t *testing.T) {
	all := written + foreign + refused + path
	for name, row := range map[string]struct {
		log  string
		mark int
		want []string
	}{
		"WholeLog":                   {all, 0, []string{"patch nodes/status", "patch nodes", "delete nodes", "get /healthz"}},
		"MarkBetweenLines":           {all, len(written), []string{"patch nodes", "delete nodes", "get /healthz"}},
		"LineThatBeganBeforeTheMark": {all, len(written) + 10, []string{"delete nodes", "get /healthz"}},
		"MarkAtTheEnd":               {all, len(all), nil},
		"LastLineIsHalfWritten":      {written + foreign[:30], 0, []string{"patch nodes/status"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := logOf(t, row.log).Since(int64(row.mark))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Lines(), row.want) {
				t.Errorf("requests %q, want %q", got.Lines(), row.want)
			}
		})
	}
}

// File.Since leaves out a request that the API server had received before the mark, even
// if the request was written to the log after the mark.
func TestRequestThatBeganBeforeTheMark(t *testing.T) {
	at := func(received, answered string) string {
		return strings.Replace(written, "{", `{"requestReceivedTimestamp":"2026-01-01T00:00:`+received+`Z","stageTimestamp":"2026-01-01T00:00:`+answered+`Z",`, 1)
	}
	before := at("01.5", "03") + at("01.5", "01.7") + foreign
	got, err := logOf(t, before+at("02", "04")+at("05", "06")).Since(int64(len(before)))
	if err != nil || len(got) != 1 || got[0].Time.Second() != 5 {
		t.Errorf("%v, %v, want only the request that was received after the mark", got, err)
	}
}

func TestEndIsTheMarkOfWhatComesNext(t *testing.T) {
	file := logOf(t, written)
	mark, err := file.End()
	if err != nil || mark != int64(len(written)) {
		t.Errorf("end %d, error %v, want %d", mark, err, len(written))
	}
}

// An unreadable log must not look like a log without requests.
func TestBrokenLog(t *testing.T) {
	if _, err := logOf(t, "{\n").Since(0); err == nil {
		t.Error("no error for a line that is not a request")
	}
	if _, err := File(filepath.Join(t.TempDir(), "missing")).Since(0); err == nil {
		t.Error("no error for a log that does not exist")
	}
}

func TestDaemonsRequests(t *testing.T) {
	all, err := logOf(t, written+foreign+refused+path).Since(0)
	if err != nil {
		t.Fatal(err)
	}
	ours := all.OfDaemons()
	if got := ours.Lines(); !slices.Equal(got, []string{"patch nodes/status", "delete nodes", "get /healthz"}) {
		t.Errorf("the daemon's requests are %q", got)
	}
	if got := ours.Writes().OfNode("n1").Lines(); !slices.Equal(got, []string{"patch nodes/status"}) {
		t.Errorf("writes of n1 are %q", got)
	}
	for _, allowed := range []bool{false, true} {
		problems := ours.OutsideEnvelope(func(Request) bool { return allowed })
		if reported := len(problems) == 1 && strings.Contains(problems[0], "delete nodes n2: 403"); reported == allowed || len(problems) > 1 {
			t.Errorf("outside of the daemon's rights if they are known now (%t): %q", allowed, problems)
		}
	}
}

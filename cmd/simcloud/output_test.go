package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"
)

// TestHostileCloud runs commands against a cloud whose answers are long and full of
// control characters. No line that is printed may contain control characters. Only
// lines of JSON may be long.
func TestHostileCloud(t *testing.T) {
	hostile := "a\nforged\tb\r\x1b[2J\x1b]0;title\x07\u202e\u009b" + strings.Repeat("b", 4<<20)
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"items": []any{map[string]any{
				"id": "i-1", "name": hostile, "zone": hostile, "type": hostile, "state": "running",
				"labels": map[string]string{"l": hostile}, "tags": map[string]string{hostile: hostile}, "addresses": []any{map[string]string{"type": hostile, "address": hostile}},
			}},
			"error": map[string]string{"code": hostile, "message": hostile},
		})
	}))
	defer server.Close()
	t.Setenv(serverVariable, server.URL)
	for _, command := range []string{"list", "show i-1", "list -o json", "terminate i-1", "lb list", "route list"} {
		for _, status = range []int{http.StatusOK, http.StatusBadRequest} {
			got := run(t, strings.Fields(command)...)
			isJSON := strings.Contains(command, "json")
			for line := range strings.Lines(got) {
				line = strings.TrimSuffix(line, "\n")
				if len(line) > 10*textLimit && !isJSON || strings.ContainsFunc(line, unicode.IsControl) || strings.ContainsRune(line, '\u202e') || strings.HasPrefix(line, "forged") {
					t.Errorf("%s, status %d: %d bytes: %.300q", command, status, len(line), line)
				}
			}
		}
	}
}

func TestErrorShowsNoPassword(t *testing.T) {
	for _, server := range []string{"http://me:secret@127.0.0.1:1", "http://me:secret@", "http://me:sec%zzret@x"} {
		if got := run(t, "list", "--server", server); !strings.HasPrefix(got, "simcloud: ") || strings.Contains(got, "sec") {
			t.Errorf("%s: got %s", server, got)
		}
	}
}

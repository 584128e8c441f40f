package input

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// FuzzDecode checks that a body is either read, or refused with an error that names
// a field. It also checks that a value is the same after it was encoded and read
// again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"name":"a"}`, `{"name":1}`, `{"nobody":1}`, `{"name":"a"}{}`, `[]`, `null`, ``, `{"count":1e99}`,
		`{"nested":{"name":[]}}`, `{"words":{"a":null}}`, "{\"name\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	type request struct {
		Name   string             `json:"name"`
		Count  int                `json:"count"`
		Words  map[string]*string `json:"words"`
		Nested struct {
			Name string `json:"name"`
		} `json:"nested"`
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		read, err := Decode[request](body)
		if err != nil {
			var refused *Error
			if !errors.As(err, &refused) || refused.problem == "" {
				t.Fatalf("%q: %v names no field", body, err)
			}
			return
		}
		encoded, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Decode[request](encoded); err != nil || again.Name != read.Name || again.Count != read.Count {
			t.Fatalf("%q is read as %s, and that as %+v, %v", body, encoded, again, err)
		}
	})
}

// FuzzCheckWord checks that every accepted word can be an item of a
// comma-separated list.
func FuzzCheckWord(f *testing.F) {
	for _, seed := range []string{"node-1", "", "a,b", "a b", "ä", "\x00", "\u2028", "\xff", strings.Repeat("x", 254)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if CheckWord("name", word) == nil && (len(strings.Split(word, ",")) != 1 || strings.TrimSpace(word) != word || word == "") {
			t.Fatalf("%q is accepted", word)
		}
	})
}

package printable

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestWithoutSecrets(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"PlainTextStays":    {"dial tcp 10.0.0.1:443: refused", "dial tcp 10.0.0.1:443: refused"},
		"PathStays":         {`Get "https://api:8443/v1/nodes": EOF`, `Get "https://api:8443/v1/nodes": EOF`},
		"ProviderIDStays":   {"aws:///eu-west-1a/i-0123", "aws:///eu-west-1a/i-0123"},
		"AddressOfIPv6":     {"http://[fd00::1]:80/a@b", "http://[fd00::1]:80/a@b"},
		"UserGoes":          {"https://me:pw@api/v1 failed", "https://xxxxx@api/v1 failed"},
		"UserAloneGoes":     {"https://token@api", "https://xxxxx@api"},
		"QueryGoes":         {`Get "https://api/v1?sig=abc&x=1": EOF`, `Get "https://api/v1?xxxxx": EOF`},
		"FragmentGoes":      {"https://api/v1#access_token=abc", "https://api/v1#xxxxx"},
		"AtSignInPassword":  {"https://me:p@w@api/v1", "https://xxxxx@api/v1"},
		"SlashInPassword":   {`parse "https://me:p/w@api/v1": invalid port`, `parse "https://xxxxx@api/v1": invalid port`},
		"QuestionInPasswrd": {"https://me:p?w@api/v1", "https://xxxxx@api/v1"},
		"EachURL":           {"https://a:b@c https://d?e", "https://xxxxx@c https://d?xxxxx"},
		"EndsAtTheSlashes":  {"https://", "https://"},
		"AtSignInPath":      {"https://me:pw@api/v1/a@b", "https://xxxxx@api/v1/a@b"},
		"URLInAPath":        {"https://proxy:80/get/https://me:pw@api/v1", "https://proxy:80/get/https://xxxxx@api/v1"},
		"QuotedInAString":   {`\"https://a/b?c\"`, `\"https://a/b?xxxxx\"`},

		"EscapedSlashes":    {`{"url":"https:\/\/me:pw@api\/v1?a=b"}`, `{"url":"https:\/\/xxxxx@api\/v1?xxxxx"}`},
		"EscapedTwice":      {`"{\"url\":\"https:\\\/\\\/me:pw@api\"}"`, `"{\"url\":\"https:\\\/\\\/xxxxx@api\"}"`},
		"EscapedAmpersand":  {`https://api/v1?a=b\u0026sig=abc`, "https://api/v1?xxxxx"},
		"EscapedLineBreak":  {`https://api/v1?a=b\nnext line`, `https://api/v1?xxxxx\nnext line`},
		"PercentEncoded":    {"to=https%3A%2F%2Fme%3Apw%40api%2Fv1%3Fa%3Db next", "to=https%3A%2F%2Fxxxxx%40api%2Fv1%3Fxxxxx next"},
		"EncodedTwice":      {"to=https%253a%252f%252fme%253apw%2540api", "to=https%253a%252f%252fxxxxx%2540api"},
		"EncodedInPassword": {"https://me:12%2F3@api", "https://xxxxx@api"},
		"EncodedSpace":      {"https://api?a=b%20c&d=e", "https://api?xxxxx"},
		"EncodedPathStays":  {"https://api/v1/a%20b: EOF", "https://api/v1/a%20b: EOF"},

		"UserWithoutScheme":      {"dial admin:pw@db.example/v1: EOF", "dial xxxxx@db.example/v1: EOF"},
		"UserAfterAName":         {"url=admin:p/w@db.example,x", "url=xxxxx@db.example,x"},
		"UserAfterASlash":        {"Node/admin:pw@db.example", "Node/xxxxx@db.example"},
		"UserInASlice":           {"[admin:pw@db.example]", "[xxxxx@db.example]"},
		"DigitsAreAPassword":     {"admin:1234@db.example", "xxxxx@db.example"},
		"QueryWithoutScheme":     {"GET api.example/v1?sig=abc&x=1 failed", "GET api.example/v1?xxxxx failed"},
		"FragmentWithoutScheme":  {"api.example/v1#id=abc", "api.example/v1#xxxxx"},
		"QuestionStays":          {"which zone? a or b", "which zone? a or b"},
		"PortIsNoPassword":       {"registry:5000/app@v1", "registry:5000/app@v1"},
		"DigestIsNoHost":         {"app:1.2@sha256:0123", "app:1.2@sha256:0123"},
		"AddressOfIPv6WithAPort": {"dial [fd00::1]:80/a@b", "dial [fd00::1]:80/a@b"},
		"MailStays":              {"ask ops@example.com: now", "ask ops@example.com: now"},

		"Bearer":              {"Authorization: Bearer abc, refused", "Authorization: xxxxx refused"},
		"Basic":               {"authorization: Basic bWU6cHc= refused", "authorization: xxxxx refused"},
		"HeaderInJSON":        {`{"Authorization": "Bearer abc", "Accept": "x"}`, `{"Authorization": "xxxxx", "Accept": "x"}`},
		"HeaderInEscapedJSON": {`{\"Authorization\":\"Bearer abc\"}`, `{\"Authorization\":\"xxxxx\"}`},
		"HeaderInGo":          {"map[Accept:[x] Authorization:[Bearer abc]]", "map[Accept:[x] Authorization:[xxxxx]]"},
		"HeaderEncoded":       {"h=Authorization%3A%20Bearer%20abc next", "h=Authorization%3A%20xxxxx next"},
		"HeaderOfAVendor":     {"X-Auth-Token: abc refused", "X-Auth-Token: xxxxx refused"},
		"BearerAlone":         {"sent Bearer eyJh.b.c twice", "sent Bearer xxxxx twice"},
		"SentenceStays":       {"invalid bearer token", "invalid bearer token"},

		"NamedValue":         {"--api-token=abc password='a b'", "--api-token=xxxxx password='xxxxx b'"},
		"NamedValueInJSON":   {`{"secret": "abc"}`, `{"secret": "xxxxx"}`},
		"NamedValueInGo":     {"{User:me Password:abc}", "{User:me Password:xxxxx"},
		"SentenceAfterAName": {"invalid token: expired", "invalid token: expired"},
		"NameOfAFileStays":   {"--token-file=/run/token", "--token-file=/run/token"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := WithoutSecrets(c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Each word that is looked for can be the only one in a text.
func TestSecretIsFoundByItsNameAlone(t *testing.T) {
	for _, text := range []string{
		"AUTHORIZATION: abc", "Bearer Abc", "token=abc", "password=abc", "PassWd=abc", "passphrase=abc", "secret=abc", "credential=abc", "api_key=abc", "access-key=abc", "signature=abc", "x-a-signature: abc",
	} {
		if got := WithoutSecrets(text); strings.Contains(strings.ToLower(got), "abc") {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Each secret is hidden, however often the text was encoded.
func TestEncodedSecrets(t *testing.T) {
	const planted = "hunter2"
	inJSON := func(text string) string {
		encoded, err := json.Marshal(map[string]string{"message": text})
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	inPHP := func(text string) string { return strings.ReplaceAll(inJSON(text), "/", `\/`) }
	encodings := map[string]func(string) string{
		"Plain": func(text string) string { return text }, "JSON": inJSON, "OtherJSON": inPHP,
		"JSONTwice": func(text string) string { return inPHP(inPHP(text)) }, "Query": url.QueryEscape, "Path": url.PathEscape,
		"QueryTwice": func(text string) string { return url.QueryEscape(url.QueryEscape(text)) }, "QueryInJSON": func(text string) string { return inPHP(url.QueryEscape(text)) },
	}
	for form, text := range map[string]string{
		"URL": "https://me:hunter2@api.example/v1", "Query": "https://api.example/v1?x=1&sig=hunter2", "NoScheme": "me:hunter2@api.example:80/v1?token=hunter2",
		"QueryAlone": "/v1?x=1&sig=hunter2", "Header": "Authorization: Bearer hunter2", "Named": "password=hunter2",
	} {
		for name, encode := range encodings {
			if got := WithoutSecrets(encode(text)); strings.Contains(got, planted) || !strings.Contains(got, secret) {
				t.Errorf("%s, %s: got %s", form, name, got)
			}
		}
	}
}

func FuzzWithoutSecrets(f *testing.F) {
	f.Add(`{"url":"https:\/\/me:pw@api\/v1?a=b\u0026c"}`)
	f.Add(`Check the credentials: they have 10 %. "tokens" : "abc", keykeys=def`)
	f.Add("to=https%253a%252f%252fme%253apw%2540api Authorization: Bearer abc")
	f.Fuzz(func(t *testing.T, text string) {
		got := WithoutSecrets(text)
		if !strings.Contains(got, secret) && got != Cut(text, maxSearched) {
			t.Errorf("%q became %q", text, got)
		}
		if cut := Cut(text, maxSearched); !mayHaveSecrets(cut) && search(cut) != cut {
			t.Errorf("%q has secrets, and is not searched", cut)
		}
	})
}

func BenchmarkWithoutSecrets(b *testing.B) {
	for name, text := range map[string]string{
		"Plain": "No route is kept for 10.244.1.128/25, because it overlaps with 10.244.1.0/24, which Node node-1 has.",
		"Error": `Get "https://me:pw@api.example.com/v1/nodes?page=2": dial tcp 10.0.0.1:443: connect: connection refused`,
		"Names": strings.Repeat("key", maxSearched/3),
		"Long":  strings.Repeat("a:b%40?c=\\/", maxSearched/12),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				WithoutSecrets(text)
			}
		})
	}
}

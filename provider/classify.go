package provider

import (
	"net/http"
	"slices"
	"time"
)

// Classify returns the meaning of an error of the cloud. It imports no SDK. It
// recognises the errors of the common SDKs by their shape: a method or a field
// with a status or a code, an *http.Response, or the name of the error's type.
// Words and numbers in the text of the error count, too, because some errors
// quote their cause without wrapping it. Classify returns Classification{} for
// an error that it cannot read. It never panics, even if a method of the error
// does.
//
// There is no kind for "not found", because only the provider knows what was not found.
// The status 400 alone has no kind either, because clouds also use it for expired
// credentials and busy objects.
func Classify(err error) Classification { return ClassifyAbout(err) }

// ClassifyAbout is like Classify, for the error of a call about one object. The names
// are words that the object's owner has chosen. ClassifyAbout removes them from the
// error's text before it searches the text, because they say nothing about the kind. It
// also removes text between quotes, except for a known code that follows a word such as
// "code".
func ClassifyAbout(err error, names ...string) Classification {
	c := collect(err)
	t := newText(err, names)
	said := c.classifyCodes(t)
	if said.Kind == Unclassified {
		said = c.classifyStatus(t)
	}
	switch said.Kind {
	case Throttled, Unavailable, Conflict:
		said.RetryAfter = c.retryAfter(said.Kind, time.Now()) //nolint:forbidigo // used only if the answer has no date of the server
	case Unclassified, Denied, Invalid, QuotaExceeded:
		// Waiting does not help.
	}
	return said
}

// classifyCodes returns the meaning of the first code that has a kind. Some clouds have
// the same code for too many requests and for too many resources in the account. For
// such a code, the words in the text decide.
func (c *clues) classifyCodes(t text) Classification {
	if slices.Contains(c.statuses, http.StatusTooManyRequests) {
		return Classification{Kind: Throttled} // whatever the reason
	}
	for _, code := range c.codes {
		switch kind, known := kindOfCode(code); {
		case kind == QuotaExceeded && t.says(perTime):
			return Classification{Kind: Throttled, FromText: true}
		case kind != Unclassified:
			return Classification{Kind: kind}
		case known:
			c.specific = true
		}
	}
	return Classification{}
}

// classifyStatus classifies an error whose codes do not decide the kind. It uses the
// status or, if there is none, the network error or the text.
func (c *clues) classifyStatus(t text) Classification {
	switch {
	case len(c.statuses) > 0:
		return c.kindOfStatus(c.statuses[0], t)
	case c.specific:
		return Classification{Known: true}
	case c.untrusted:
		return Classification{} // neither credentials nor an outage
	case c.unreachable:
		return Classification{Kind: Unavailable}
	}
	return c.classifyText(t)
}

func (c *clues) classifyText(t text) Classification {
	for _, code := range t.codes {
		if kind, _ := kindOfCode(code); kind != Unclassified {
			return Classification{Kind: kind, FromText: true}
		}
	}
	if t.status != 0 {
		said := c.kindOfStatus(t.status, t)
		said.FromText = true
		return said
	}
	kind := t.kind()
	return Classification{Kind: kind, FromText: kind != Unclassified}
}

// kindOfStatus returns the meaning of an HTTP status. If clouds use a status
// for several things, the words in the text decide.
func (c *clues) kindOfStatus(status int, t text) Classification {
	byText := func(kind ErrorKind) Classification { return Classification{Kind: kind, FromText: true} }
	switch {
	case status == http.StatusTooManyRequests, status == 498: // 498 is OpenStack's
		return Classification{Kind: Throttled}
	case status == http.StatusRequestEntityTooLarge && c.retryAfter(Unavailable, time.Time{}) > 0: // OpenStack uses this status, too
		return Classification{Kind: Throttled}
	case t.saysThrottled():
		return byText(Throttled)
	case status >= http.StatusInternalServerError, status == http.StatusRequestTimeout:
		return Classification{Kind: Unavailable}
	case t.says(quotaWords):
		return byText(QuotaExceeded)
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return Classification{Kind: Denied}
	case c.specific: // The code is known, but has no kind.
		return Classification{Known: true}
	}
	switch status {
	case http.StatusConflict:
		if !t.says(existsWords) { // Unless the object already exists, trying again helps.
			return Classification{Kind: Conflict}
		}
	case http.StatusPreconditionFailed, http.StatusLocked:
		return Classification{Kind: Conflict}
	case http.StatusUnprocessableEntity:
		return Classification{Kind: Invalid}
	case http.StatusBadRequest:
		for _, kind := range []ErrorKind{Denied, Conflict, Invalid} {
			if t.says(words[kind]) {
				return byText(kind)
			}
		}
	}
	return Classification{Known: true}
}

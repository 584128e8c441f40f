package provider

import (
	"net/http"
	"slices"
	"time"
)

// Classify returns what an error of the cloud means, as far as its shape shows
// it. It imports no SDK. It recognises the errors of the common SDKs by what
// they have: a status or a code in a method or a field, an *http.Response, the
// name of a type, and words or numbers in the text of an error that does not
// wrap its cause. It returns Classification{} for an error that it cannot read.
// It never panics, even if a method of the error does.
//
// There is no kind for "not found", because only the provider knows what was not
// found. A status 400 alone has no kind either, because clouds also answer with
// it if credentials have expired or an object is busy.
func Classify(err error) Classification { return ClassifyAbout(err) }

// ClassifyAbout is Classify for the error of a call about one object. The names
// are words that the object's owner has chosen. They are removed from the
// error's text before words are looked for in it, and so is everything between quotes.
// A code that the cloud is known to use counts between quotes, too.
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

// classifyCodes returns what the first known code means. Some clouds answer with
// the same code if there are too many requests and if there are too many
// resources in the account.
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

// classifyStatus classifies an error in which no code stands for a kind: by its
// status, else by its network error or its text.
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

// kindOfStatus returns what an HTTP status means. Words count where clouds use
// one status for several things.
func (c *clues) kindOfStatus(status int, t text) Classification {
	byText := func(kind ErrorKind) Classification { return Classification{Kind: kind, FromText: true} }
	switch {
	case status == http.StatusTooManyRequests, status == 498: // 498 is OpenStack's
		return Classification{Kind: Throttled}
	case status == http.StatusRequestEntityTooLarge && c.retryAfter(Unavailable, time.Time{}) > 0: // OpenStack answers with this, too
		return Classification{Kind: Throttled}
	case t.saysThrottled():
		return byText(Throttled)
	case status >= http.StatusInternalServerError, status == http.StatusRequestTimeout:
		return Classification{Kind: Unavailable}
	case t.says(quotaWords):
		return byText(QuotaExceeded)
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return Classification{Kind: Denied}
	case c.specific: // The code says what happened, and no kind stands for that.
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

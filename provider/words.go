package provider

import "regexp"

// The words that clouds use, in lower case. A word that is part of a name, such as
// throttle-proxy, does not count.
var (
	throttledWords = regexp.MustCompile(`\btoo many (?:api )?requests\b|\brate exceeded\b|\brequest ?limit ?exceeded\b|\brate ?limit ?exceeded\b|` +
		`\brate[- ]?limit(?:ing)? (?:has been |was )?(?:hit|exceeded|reached)\b|\bexceeded (?:the |your |its )?(?:api )?(?:request )?rate[- ]?limit\b|` +
		`\brate[- ]limited\b|(?:^|[^\w-])(?:throttled|throttling|throttlingexception|throttle)(?:[^\w-]|$)`)
	// rateWords is used only for an error without a status.
	rateWords = regexp.MustCompile(`(?:^|[^\w-])rate[- ]?limit(?:[^\w-]|$)|` +
		`\b(?:requests?|queries|calls) per (?:second|minute|hour|day)\b.*\bexceeded\b`)
	perTime     = regexp.MustCompile(`\bquota exceeded for quota (?:metric|group)\b|\bper (?:second|minute|hour|day|\d+ seconds)\b|\b(?:request|api call|api request)s? quota\b`)
	quotaWords  = regexp.MustCompile(`\bquotas?\b.*\b(?:exceeded|exceeds|exhausted|reached|used up|insufficient)\b|\bquota is \d+\b|\b(?:exceed(?:s|ed|ing)?|reached|insufficient|over)\b.{0,60}\bquotas?\b|\b(?:limit|maximum number)\b.{0,40}\b(?:reached|exceeded)\b|\b(?:reached|exceed(?:s|ed)?)\b.{0,40}\blimits?\b`)
	triesWords  = regexp.MustCompile(`\b(?:retry|retries|attempts?|tries|polling|deadline|time ?out|time limit)\b`)
	existsWords = regexp.MustCompile(`\balready (?:exists?|in use|used|assigned|attached)\b|\bduplicated?\b|\bmust be unique\b`)

	words = map[ErrorKind]*regexp.Regexp{
		Denied: regexp.MustCompile(`\bunauthori[sz]ed\b|\bunauthenticated\b|\bnot authenticated\b|\bnot authori[sz]ed\b|\bforbidden\b|\baccess (?:is |was )?denied\b|\binvalid_grant\b|` +
			`\b(?:invalid|bad|wrong|expired|incorrect) (?:api |access |auth |bearer |security )?(?:token|credentials?|api key|password|login)\b|\btoken\b.{0,30}\bexpired\b|` +
			`\bcredentials?\b.{0,30}\b(?:expired|invalid|rejected)\b|\bunable to authenticate\b|\bauthentication (?:failed|required)\b|\bauthorization failed\b|` +
			`\bincorrect user ?name or password\b|\binsufficient permissions?\b|\bpermission to perform this operation was denied\b|\bcould not find default credentials\b|\bno valid credential\b`),
		Conflict: regexp.MustCompile(`(?:^|[^\w-])busy(?:[^\w-]|$)|\b(?:is|are|currently|been) locked\b|\btransient state\b|\bis immutable\b|\bis being (?:created|updated|modified|deleted|changed|provisioned)\b|` +
			`\banother (?:operation|action|request|task)\b.{0,40}\b(?:progress|running|pending)\b|\boperation (?:is )?(?:already )?in progress\b|\bpending (?:update|create|delete)\b`),
		Invalid: regexp.MustCompile(`\binvalid\b|\bis not valid\b|\bmalformed\b|\bvalidation (?:error|failed|failure)\b|\bnot supported\b|\bis required\b|\bmust be\b`),
		Unavailable: regexp.MustCompile(`\bconnection (?:refused|reset|timed out)\b|\bno such host\b|\bi/o timeout\b|\bno route to host\b|\bnetwork is unreachable\b|\btls handshake timeout\b|` +
			`\bserver misbehaving\b|\bbroken pipe\b|\bunexpected eof\b|^(?:.* )?(?:get|post|put|patch|delete|head)\b.*: eof$|\bclient\.timeout exceeded\b|\bcontext deadline exceeded\b|\bservice (?:is )?(?:temporarily )?unavailable\b|` +
			`\bbad gateway\b|\bgateway timeout\b|\binternal server error\b|\bserver closed idle connection\b|\bconnection lost\b`),
	}
)

func (t *text) says(what *regexp.Regexp) bool { return what.MatchString(t.words) }

// saysThrottled reports whether the text speaks of too many calls.
func (t *text) saysThrottled() bool {
	return t.says(throttledWords) || t.says(quotaWords) && t.says(perTime)
}

// kind returns the kind that the words alone indicate.
func (t *text) kind() ErrorKind {
	switch {
	case t.saysThrottled(), t.says(rateWords):
		return Throttled
	case t.says(words[Denied]):
		return Denied
	case t.says(words[Unavailable]):
		return Unavailable
	case t.says(words[Conflict]):
		return Conflict
	case t.says(quotaWords) && !t.says(triesWords): // not the limit of a client's own retries
		return QuotaExceeded
	}
	return Unclassified
}

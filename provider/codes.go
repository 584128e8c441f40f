package provider

import (
	"reflect"
	"strings"
)

// kindOfCode returns the kind of a code. The code may have the spelling of any cloud. Some
// known codes have no kind, because they say what is wrong with one object.
func kindOfCode(code string) (kind ErrorKind, known bool) {
	code = plain(code)
	for _, spelling := range []string{code, short(code)} {
		if kind, known = codes[spelling]; known {
			return kind, true
		}
	}
	for _, rule := range codeRules {
		if rule.holds(short(code)) {
			return rule.kind, true
		}
	}
	return Unclassified, false
}

// typeCode returns the name of an error's type if that name is a code. Some SDKs
// have a type for each code and show the code nowhere else.
func typeCode(t reflect.Type) string {
	if isListed(t.Name()) {
		return t.Name()
	}
	return ""
}

// isListed reports whether the code is in the map codes. It does not use codeRules,
// because it is also called for words that are not codes.
func isListed(code string) bool {
	code = plain(code)
	_, known := codes[code]
	_, inShort := codes[short(code)]
	return known || inShort
}

// plain returns a code in lower case, without the characters that clouds put
// between its words.
func plain(code string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, code)
}

// short returns a plain code without the ending that some clouds add to all
// their codes: toomanyrequestsexception becomes toomanyrequests.
func short(code string) string {
	for _, end := range []string{"exception", "error", "fault"} {
		if cut := strings.TrimSuffix(code, end); cut != "" {
			code = cut
		}
	}
	return code
}

// codes has the kinds of the codes of clouds. Each code has the form that the function
// plain returns.
var codes = byKind(map[ErrorKind]string{
	Throttled: `throttling throttled throttle toomanyrequests toomanyrequest requestlimitexceeded requestratelimitexceeded requestthrottled
		ratelimit ratelimitexceeded ratelimited ratelimithit userratelimitexceeded dailylimitexceeded ratelimitreached slowdown ratequotaexceeded requestquotaexceeded
		bandwidthlimitexceeded throttledrequest subscriptionrequeststhrottled priorrequestnotcomplete resourceexhausted ec2throttled
		throttlinguser apilimit requestlimitreached`,
	Denied: `accessdenied unauthorized unauthorizedoperation unauthorizedaccess unauthenticated forbidden expiredtoken tokenexpired requestexpired
		expiredcredentials invalidclienttokenid unrecognizedclient authfailure signaturedoesnotmatch invalidsignature invalidaccesskeyid optinrequired
		missingauthenticationtoken incompletesignature authorizationfailed authenticationfailed authenticationrequired invalidauthenticationtoken
		invalidauthenticationinfo linkedauthorizationfailed linkedaccesscheckfailed invalidgrant invalidclient unauthorizedclient notauthenticated
		nopermission invalidlogin permissiondenied permissionsdenied deniedauthentication insufficientpermissions insufficientpermission insufficientscope
		insufficientservicepermissions accessnotconfigured autherror authenticationerror tokenreadonly invalidtoken invalidcredentials invalidauth invalidapikey
		invalidaccesstoken passwordexpired accountsuspended signuprequired credentialunavailable`,
	Invalid: `invalid invalidinput invalidparameter invalidparametervalue invalidparametercombination invalidargument invalidarguments invalidfieldvalue
		invalidproperty invalidrequestformat validation validationfailed missingparameter missingrequiredparameter missing required jsonerror unsupportederror cannotparserequest
		malformed malformedquerystring unknownparameter linkedinvalidpropertyid unprocessable unprocessableentity invalidconfigurationrequest outofrange`,
	Unavailable: `unavailable serviceunavailable internalerror internalservererror internalfailure servererror serviceerror backenderror badgateway gatewaytimeout
		timeout timedout requesttimeout servicetimeout deadlineexceeded maintenance robotunavailable hostcommunication temporarilyunavailable
		operationtimedout transient`,
	Conflict: `conflict locked busy resourcelocked transientstate resourceinuse inuse dependencyviolation incorrectstate incorrectinstancestate
		operationinprogress anotheroperationinprogress taskinprogress inprogress concurrentaccess concurrentmodification concurrentupdate aborted operationaborted
		operationpreempted resourcenotready resourceinusebyanotherresource preconditionfailed conditionnotmet noetagmatch etagmismatch
		invalidatedretrytoken retryable serverlocked resourceconflict notready externalserverincorrectstate immutable`,
	QuotaExceeded: `quotaexceeded quotasexceeded overquota resourcelimitexceeded limitexceeded limitsexceeded limitreached quota quotalimit
		insufficientquota accountlimit accountlimitreached resourcequotaexceeded`,
	// These codes are known, but no kind fits them.
	Unclassified: `notfound resourcenotfound alreadyexists uniqueness duplicate duplicated protected gone unknown notauthorizedornotfound
		notacceptable notimplemented`,
})

func byKind(lists map[ErrorKind]string) map[string]ErrorKind {
	all := map[string]ErrorKind{}
	for kind, list := range lists {
		for code := range strings.FieldsSeq(list) {
			all[code] = kind
		}
	}
	return all
}

// codeRules are for codes that also name an object, such as VpcLimitExceeded
// and InvalidInstanceID.NotFound. The first rule that matches counts.
var codeRules = []struct {
	kind  ErrorKind
	holds func(code string) bool
}{
	{Unclassified, func(c string) bool {
		return strings.HasSuffix(c, "notfound") || strings.Contains(c, "already") || strings.HasSuffix(c, "duplicate") || strings.HasPrefix(c, "duplicate")
	}},
	{Throttled, func(c string) bool {
		return strings.Contains(c, "throttl") || strings.Contains(c, "ratelimit") || strings.HasSuffix(c, "requestlimitexceeded")
	}},
	{QuotaExceeded, func(c string) bool {
		return strings.HasSuffix(c, "limitexceeded") || strings.HasSuffix(c, "limitreached") || strings.HasSuffix(c, "quotaexceeded") ||
			strings.HasPrefix(c, "toomany") || strings.HasPrefix(c, "quotaexceeded")
	}},
	{Conflict, func(c string) bool {
		return strings.HasSuffix(c, "inuse") || strings.HasSuffix(c, "inprogress") || strings.HasSuffix(c, "locked") || strings.HasSuffix(c, "conflict")
	}},
	{Denied, func(c string) bool {
		return strings.HasPrefix(c, "accessdenied") || strings.HasPrefix(c, "unauthorized") || strings.HasPrefix(c, "expiredtoken") ||
			strings.HasSuffix(c, "authorizationfailed") || strings.HasSuffix(c, "authenticationfailed")
	}},
	{Invalid, func(c string) bool {
		return len(c) > len("invalid") && strings.HasPrefix(c, "invalid") && !strings.HasSuffix(c, "state") && !strings.HasSuffix(c, "token")
	}},
}

package provider

import (
	"fmt"
	"net/http"
	"reflect"
	"time"
)

// maxDepth is how deep an error is searched. maxItems is the largest number of
// entries that are read from a list.
const (
	maxDepth = 3
	maxItems = 8
)

var (
	responseType = reflect.TypeFor[http.Response]()
	headerType   = reflect.TypeFor[http.Header]()
	durationType = reflect.TypeFor[time.Duration]()
)

// objects finds methods of an error by name, because the types of their results belong to
// an SDK. Each name is a constant, because a variable name would make the linker keep all
// exported methods of the program.
func (c *clues) objects(v reflect.Value) {
	for _, m := range []reflect.Value{v.MethodByName("Response"), v.MethodByName("HTTPResponse")} {
		safely(func() { c.response(result(m), maxDepth) })
	}
	safely(func() { // the faults of vSphere
		if fault := concrete(result(v.MethodByName("Fault"))); fault.IsValid() {
			c.code(fault.Type().Name())
		}
	})
	safely(func() { // the statuses of gRPC
		if s := result(v.MethodByName("GRPCStatus")); s.IsValid() {
			if code, ok := reflect.TypeAssert[fmt.Stringer](result(s.MethodByName("Code"))); ok {
				c.code(code.String())
			}
		}
	})
}

// result calls a method without parameters. It returns the zero Value if there
// is no such method.
func result(method reflect.Value) reflect.Value {
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return reflect.Value{}
	}
	return method.Call(nil)[0]
}

// concrete follows pointers and interfaces to their value. It returns the zero
// Value for nil.
func concrete(v reflect.Value) reflect.Value {
	for range maxDepth {
		if v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
			break
		}
		v = v.Elem()
	}
	return v
}

// fields reads an error that is a struct: its fields and the name of its type.
func (c *clues) fields(v reflect.Value) {
	if v = concrete(v); v.Kind() != reflect.Struct {
		return
	}
	for _, name := range []string{"ErrorCode", "Code", "Type", "Reason"} {
		c.code(word(field(v, name)))
	}
	c.items(field(v, "Errors"))
	c.code(typeCode(v.Type()))
	for _, name := range []string{"StatusCode", "HTTPStatusCode", "HTTPStatus", "Status", "Actual", "Code"} {
		c.status(number(field(v, name)))
	}
	for _, name := range []string{"Response", "RawResponse", "HTTPResponse"} {
		safely(func() { c.response(field(v, name), maxDepth) })
	}
	for _, name := range []string{"Header", "Headers", "ResponseHeader", "ResponseHeaders"} {
		safely(func() { c.header(field(v, name)) })
	}
	if pause := field(v, "RetryAfter"); pause.IsValid() && pause.Type() == durationType {
		c.pauses = append(c.pauses, time.Duration(pause.Int()))
	}
}

// items reads the codes in a list of errors, such as the list in Google's errors.
func (c *clues) items(list reflect.Value) {
	if list.Kind() != reflect.Slice {
		return
	}
	for i := range min(list.Len(), maxItems) {
		if item := concrete(list.Index(i)); item.Kind() == reflect.Struct {
			c.code(word(field(item, "Reason")))
			c.code(word(field(item, "Code")))
		}
	}
}

// response reads an *http.Response, or a type that contains one.
func (c *clues) response(v reflect.Value, depth int) {
	v = concrete(v)
	switch {
	case depth == 0 || v.Kind() != reflect.Struct:
	case v.Type() == responseType:
		c.status(number(field(v, "StatusCode")))
		c.header(field(v, "Header"))
	default:
		for _, name := range []string{"Response", "RawResponse", "HTTPResponse"} {
			c.response(field(v, name), depth-1)
		}
	}
}

func (c *clues) header(v reflect.Value) {
	if v.IsValid() && v.CanInterface() && v.Type().ConvertibleTo(headerType) {
		if h, ok := reflect.TypeAssert[http.Header](v.Convert(headerType)); ok && len(h) > 0 {
			c.headers = append(c.headers, h)
		}
	}
}

// field returns a field of a struct. The field may be promoted. If the struct
// has no such field, or an embedded pointer on the way is nil, field returns
// the zero Value.
func field(v reflect.Value, name string) (found reflect.Value) {
	safely(func() { found = v.FieldByName(name) })
	if found.Kind() == reflect.Interface {
		found = found.Elem()
	}
	return found
}

func word(v reflect.Value) string {
	if v.Kind() != reflect.String {
		return ""
	}
	return v.String()
}

func number(v reflect.Value) int {
	if !v.CanInt() {
		return 0
	}
	return int(v.Int())
}

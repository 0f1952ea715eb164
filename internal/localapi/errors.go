package localapi

import (
	"errors"
	"fmt"
	"net/http"

	"capd/internal/access"
	"capd/internal/document"
	"capd/internal/health"
	"capd/internal/standing"
)

// ErrorCode is the class of an Error. The list is closed.
type ErrorCode string

// The error codes, each with its HTTP status.
const (
	BadRequest  ErrorCode = "bad_request"        // 400: what was asked is not a valid request
	Forbidden   ErrorCode = "forbidden"          // 403: this caller, or a request of this shape, may not do it
	NotFound    ErrorCode = "not_found"          // 404: nothing has this name
	NoMethod    ErrorCode = "method_not_allowed" // 405
	Conflict    ErrorCode = "conflict"           // 409: it does not fit the present state
	TooLarge    ErrorCode = "too_large"          // 413
	Internal    ErrorCode = "internal"           // 500
	Unavailable ErrorCode = "unavailable"        // 503: the disk or the daemon cannot do it now
)

// Status is the HTTP status that goes with the code.
func (c ErrorCode) Status() int {
	switch c {
	case BadRequest:
		return http.StatusBadRequest
	case Forbidden:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case NoMethod:
		return http.StatusMethodNotAllowed
	case Conflict:
		return http.StatusConflict
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// Error is why a request was not carried out, as the door answers it and the client returns it.
type Error struct {
	Code    ErrorCode `json:"code"`
	Message string    `json:"message"`
	Next    string    `json:"next,omitempty"` // what to do instead
}

func (e *Error) Error() string {
	if e.Next == "" {
		return e.Message
	}
	return e.Message + "; " + e.Next
}

// problem makes an Error.
func problem(code ErrorCode, next, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Next: next}
}

// unknown is the Error about a name that nothing has; among are the names that exist.
func unknown(kind, name string, among []string, list string) *Error {
	next := list
	if near := document.Suggest(name, among); near != "" {
		next = "did you mean " + near + "?"
	}
	return problem(NotFound, next, "there is no %s %q", kind, name)
}

// asError gives any error its code: what the caller did wrong is told from what the box could not do.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*standing.InputError](err); ok {
		return problem(BadRequest, "", "%s", e.Error())
	}
	if e, ok := errors.AsType[*health.InputError](err); ok {
		return problem(BadRequest, "", "%s", e.Error())
	}
	if e, ok := errors.AsType[*access.SpecError](err); ok {
		return problem(BadRequest, "", "%s", e.Error())
	}
	if e, ok := errors.AsType[*access.NoTokenError](err); ok {
		return problem(NotFound, "", "%s", e.Error())
	}
	if e, ok := errors.AsType[*standing.NotLockedError](err); ok {
		return problem(Conflict, "", "%s", e.Error())
	}
	return problem(Unavailable, "", "%s", err.Error())
}

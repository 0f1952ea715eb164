package registry

import (
	"fmt"
	"maps"
	"slices"

	"capd/internal/contract"
	"capd/internal/expression"
	"capd/internal/field"
	"capd/internal/inventory"
	"capd/internal/physical"
	"capd/internal/verify"
)

// handshake compiles the write of a token: a readable number, which another point of the machine repeats.
func (k *compiler) handshake(x *Action, s contract.Step, b *field.Bound, path string) Step {
	echo, ok := k.bound[s.Echo]
	problem := func(message, hint string) { k.add(s.Pos, path, "handshake", message, hint) }
	switch {
	case !ok:
		k.unknownAlias(s.Pos, path, s.Echo)
	case b.ValueKind != physical.Number || echo.ValueKind != physical.Number:
		problem("token and echo have to be numbers", "a handshake counts; labels and bits cannot")
	case b.Point.Access != inventory.ReadWrite || echo.Point.Access == inventory.WriteOnly:
		problem("token and echo have to be readable", "set access: read_write for the token; it is read back")
	case echo.Point.Role == physical.Setpoint || b.Shares(echo):
		problem(fmt.Sprintf("%s repeats nothing by itself", echo.Point.Ref), "name a point of role status that the machine sets when it has taken the token")
	case k.reserved(x):
		problem(fmt.Sprintf("%q is taken by the token", TokenParam), "rename the parameter or the point")
	}
	target, err := verify.CompileTarget(contract.Operand{Expr: TokenParam, Pos: s.Pos}, k.tokenScope(x), expression.Number)
	if err != nil {
		problem(err.Error(), "")
	}
	x.Shake = &Handshake{Token: k.points[s.Write], Echo: k.points[s.Echo]}
	return Step{Point: b, Alias: s.Write, Value: target, Token: true}
}

func (k *compiler) reserved(x *Action) bool {
	_, point := k.points[TokenParam]
	return point || slices.Contains(x.Params.names, TokenParam)
}

// tokenScope is an action's scope in which the token has a value.
func (k *compiler) tokenScope(x *Action) verify.Scope {
	scope := x.Scope
	scope.Params = maps.Clone(scope.Params)
	if scope.Params == nil {
		scope.Params = map[string]expression.Type{}
	}
	scope.Params[TokenParam] = expression.Number
	return scope
}

// shaken is an action's verification, to which a handshake adds that the machine has echoed the token.
func (k *compiler) shaken(a *contract.Action) *contract.Verify {
	i := slices.IndexFunc(a.Execute, contract.Step.Shakes)
	if i < 0 {
		return a.Verify
	}
	v, s := *a.Verify, a.Execute[i]
	v.Expect = append(slices.Clone(v.Expect), contract.Expect{Point: s.Echo, Kind: contract.Is, Target: contract.Operand{Expr: TokenParam, Pos: s.Pos}, Pos: s.Pos})
	return &v
}

//go:build race

package mcpserver_test

// raced says that the race detector makes everything about ten times slower.
const raced = true

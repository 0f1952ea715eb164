// Package archtest holds the house rules that are tests: which package may import which, where each library lives, and that
// every package says what it promises. It has no code of its own.
package archtest

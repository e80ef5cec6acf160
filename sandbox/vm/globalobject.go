package vm

// hideGoError takes it away. It is made when it is first touched, also to be deleted, which costs as
// much as a small handler; so this is done when something could find it: before a program that
// reaches the global object, and before code that a script makes at run time.
func (s *session) hideGoError() {
	if s.goErrorHidden {
		return // what is there now is the script's own
	}
	s.goErrorHidden = true
	s.must(s.rt.GlobalObject().Delete(goError))
}

// globals are the names of a runtime's global object.
func (s *session) globals() []string {
	var names []string
	// The script may have put anything in the place of the prototype.
	if ex := s.rt.Try(func() {
		s.hideGoError()
		for o := s.rt.GlobalObject(); o != nil; o = o.Prototype() {
			names = append(names, o.GetOwnPropertyNames()...)
		}
	}); ex != nil {
		return nil
	}
	return names
}

// the operator's pages: everything works without this

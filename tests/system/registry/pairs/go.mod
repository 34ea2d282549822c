module ottla/pairs

go 1.26.0

begin immediate transaction;
create table users (id integer primary key, name text not null);
;;
insert into users (name) values ('Ada'), ('Grace');
savepoint s; release savepoint s; rollback to s;
pragma main.journal_mode = wal; pragma table_info(users); pragma user_version; pragma x = -1; pragma y = on; pragma z(delete);
commit
